"""Phases of a pretraining run: batches, depth and positions at each step."""

import bisect
import dataclasses

import keras
import numpy as np

from albert_keras.keras_internals import sync_variables
from albert_keras.pretraining.examples import make_generator
from albert_keras.pretraining.phases import Phase, starts_of


class RunPhases:
    """Batches and depth at each step of a run, which has one phase or several.

    Args:
        config: `PretrainingRunConfig`, filled in by its recipe.
        examples: `PretrainingDataConfig` of a token store, or None for finished examples.
        shape: `AlbertConfig` of the model.

    Raises:
        ValueError: If phases do not fit data or model.
    """

    def __init__(self, config, examples, shape):
        phases = [*map(Phase.parse, config.phases or ())]
        if phases:
            _check(phases, config, examples, shape)
        self.phases = phases or [Phase(config.num_steps, config.batch_size)]
        self.starts = starts_of(self.phases)
        self.examples = [
            examples and dataclasses.replace(examples, **phase.data_options)
            for phase in self.phases
        ]
        self.seed = config.seed
        self.shape = shape
        self.current = 0

    def at(self, step):
        """Returns the number of the phase that a step is in, from 0."""
        return bisect.bisect_right(self.starts, step) - 1

    def make_dataset(self, task, data, step, shard):
        """Returns endless batches of a task from a step on."""
        number, seed = self.at(step), self.seed
        if number:
            # A seed for each phase, or all would begin with the same documents.
            seed = int(make_generator(seed, number).integers(2**32))
        return task.make_dataset(
            data,
            self.phases[number].batch_size,
            seed=seed,
            start_step=step - self.starts[number],
            config=self.examples[number],
            shard=shard,
        )

    def enter(self, backbone, step):
        """Sets the depth for the training of a backbone from a step on."""
        self.current = self.at(step)
        num_layers = self.phases[self.current].num_layers
        repetitions = self.shape.num_inner_repetitions
        backbone.encoder_stack.depth = num_layers and num_layers * repetitions

    def callbacks(self, backbone):
        """Returns the Keras callbacks for these phases."""
        if len(self.phases) == 1:
            return []
        return [
            RepeatedPositions(
                backbone, lambda: self.examples[self.current].sequence_length
            )
        ]


class RepeatedPositions(keras.callbacks.Callback):
    """Copies the positions that a phase trains to the rest of the position table.

    Longer rows, in evaluations and in later phases, then start with trained positions. It
    happens before each evaluation and checkpoint.

    Args:
        backbone: `AlbertBackbone`.
        current_length: Function that returns the length of the rows of the phase.

    Reference: Beltagy et al. 2020, Longformer, section 5.
    """

    def __init__(self, backbone, current_length):
        super().__init__()
        self.table = backbone.embedding.position_embedding.position_embeddings
        self.current_length = current_length

    def on_test_begin(self, logs=None):
        self._repeat()

    def on_epoch_end(self, epoch, logs=None):
        # For runs without held-out data.
        self._repeat()

    def _repeat(self):
        sync_variables(self.model)
        trained = keras.ops.convert_to_numpy(self.table)[: self.current_length()]
        self.table.assign(np.resize(trained, self.table.shape))


def _check(phases, config, examples, shape):
    """Raises a ValueError if phases do not fit data or model."""
    if examples is None:
        raise ValueError(
            "Phases need a token store, to make their own examples. "
            f"Received: data='{config.data}'. Prepare the text with --format store."
        )
    longest = max(phase.data_options.get("sequence_length", 0) for phase in phases)
    if longest > shape.max_sequence_length:
        raise ValueError(
            "Rows of a phase must fit the model's positions. Received: sequence_length="
            f"{longest}, max_sequence_length={shape.max_sequence_length}."
        )
    depths = [phase.num_layers or shape.num_layers for phase in phases]
    if depths[-1] != shape.num_layers or max(depths) > shape.num_layers:
        raise ValueError(
            "No phase may be deeper than the model, and the last one must be as deep. "
            f"Received: num_layers {depths} for a model of {shape.num_layers}."
        )
    is_one_layer = shape.sharing == "all" and shape.num_groups == 1
    if min(depths) < shape.num_layers and not is_one_layer:
        raise ValueError(
            "A model that grows in depth must have one shared layer. Received: "
            f"sharing={shape.sharing}, num_groups={shape.num_groups}."
        )
