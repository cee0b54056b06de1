"""Pretraining runs: from text or prepared data to a model folder."""

import bisect
import contextlib
import copy
import dataclasses
import itertools
import pathlib
import tempfile

import keras
import numpy as np

from albert_keras import converters
from albert_keras.config import ATTENTION_FIELDS
from albert_keras.keras_internals import sync_variables
from albert_keras.models import AlbertBackbone
from albert_keras.optimizers import make_optimizer
from albert_keras.options import check_unused, given_of
from albert_keras.pretraining import (
    PretrainingDataConfig,
    PretrainingTask,
    read_description,
)
from albert_keras.pretraining.datasets import plain_errors
from albert_keras.pretraining.examples import make_generator
from albert_keras.pretraining.jobs import HELD_OUT
from albert_keras.pretraining.phases import Phase
from albert_keras.pretraining.records import find_shards
from albert_keras.pretraining.token_store import is_store
from albert_keras.runs.folder import RunFolder
from albert_keras.runs.preparation import CorpusOptions
from albert_keras.runs.pretraining_config import choose_recipe
from albert_keras.runs.reporting import note
from albert_keras.runs.training import (
    check_fits,
    check_micro_batches,
    check_unchanged,
    make_trainer,
)
from albert_keras.system.files import write_json
from albert_keras.system.fingerprints import fingerprint_files
from albert_keras.system.progress import format_value
from albert_keras.system.storage import absolute, to_path
from albert_keras.training import get_strategy

# Options of a model that may differ from a checkpoint's.
FREE = (
    *("max_sequence_length", "dropout", "attention_dropout", "rematerialization"),
    *ATTENTION_FIELDS,
)

# Fields of `PretrainingDataConfig` that a token store has already used.
PREPARED = ("word_segmenter", "num_shards", "dupe_factor")


class PretrainingRun:
    """Trains on masked tokens and sentence pairs in a run folder, or resumes a run there.

    Example:

    ```python
    config = PretrainingRunConfig(
        run="runs/base", data="records/", tokenizer="30k.model", num_steps=125_000
    )
    results = PretrainingRun(config).fit()
    ```
    """

    def __init__(self, config):
        # First, because several workers must find each other before they compute.
        self.strategy = get_strategy(config.strategy)
        self.folder = RunFolder(config.run)
        self.recipe, self.config = choose_recipe(config, self.folder.read_if_begun())

    def fit(self):
        """Prepares data and model, trains, saves the model and evaluates it.

        Returns:
            Dict: `run`, `parameters`, and for held-out documents or data the losses and
                accuracies of `PretrainingTask.evaluate`. None in workers other than the
                chief.

        Raises:
            ValueError: If data, tokenizer, model or an earlier run do not fit each other.
            BlockingIOError: If another process works in the run's folder.
        """
        writes = self.strategy.is_chief
        with (
            self.folder.claimed() if writes else contextlib.nullcontext(),
            self.strategy.ends_together(),
            plain_errors(),
        ):
            self.prepare()
            self.train()
            return self.report()

    def dry_run(self):
        """Measures some steps, as `Trainer.dry_run`; the run's folder stays as it is.

        Returns:
            Dict; None in workers other than the chief.
        """
        with tempfile.TemporaryDirectory() as temporary, self.strategy.ends_together():
            run = copy.copy(self)
            if self.config.text and read_description(data_folder(self.config)) is None:
                # Data in the run's folder would be begun or continued.
                run.config = dataclasses.replace(self.config, run=temporary)
            run.prepare()
            # All workers take part in a step.
            measured = run.trainer.dry_run(
                run.model, run.training_dataset, run.enter_phase
            )
        return measured if self.strategy.is_chief else None

    def prepare(self):
        """Checks everything, prepares data from text, and builds the model."""
        config = self.config
        for batch_size in {*self.recipe.batch_sizes}:
            self.strategy.check_batch_size(batch_size)
            check_micro_batches(config.micro_batches, batch_size, self.strategy)
        self.folder.check_resumable(config)
        if config.data:
            unused = (*CorpusOptions.__dataclass_fields__, "runner", "runner_option")
            check_unused(vars(config), unused, "data that is prepared")
        if config.data or config.validation_data:
            check_unused(vars(config), ["validation_split"], "prepared held-out data")
        self.tokenizer = config.load_tokenizer(config.tokenizer or config.checkpoint)
        shape, checkpoint = self.load_start()
        # Before the long preparation of text.
        length = config.data_config.sequence_length if config.text else 0
        check_fits(self.tokenizer, shape, length)
        if config.validation_data:
            check_data(config.validation_data, self.tokenizer, shape)
        self.data = find_data(config, self.tokenizer, self.strategy)
        held_out = to_path(self.data) / HELD_OUT
        has_own = read_description(held_out) is not None
        self.held_out = config.validation_data or (held_out if has_own else None)
        rows = held_out_config(self.held_out, shape)
        self.reading = {"shard": self.strategy.shard, "config": rows}
        self.examples = example_config(self.data, config)
        self.training_files = fingerprint_data(self.data)
        self.example_config = self.examples or read_config(self.data)
        check_unchanged(self.training_files, self.folder.read_if_begun())
        self.folder.check_resumable(config, **dataclasses.asdict(self.example_config))
        self.phases = RunPhases(config, self.examples, shape)
        for examples in (self.examples, *self.phases.examples):
            check_data(self.data, self.tokenizer, shape, examples)
        self.task = self.make_task()
        keras.utils.set_random_seed(config.seed)
        self.trainer = make_trainer(
            config,
            self.strategy,
            config.num_steps,
            steps_per_evaluation=min(5000, max(50, config.num_steps // 8)),
            phase_starts=self.phases.starts[1:],
        )
        with self.strategy.scope():
            self.model = self.build_model(shape, checkpoint)
            recipe, task = self.recipe, self.task
            optimizer = make_optimizer(
                recipe.learning_rate,
                recipe.optimizer,
                num_steps=recipe.num_steps,
                warmup_steps=recipe.warmup_steps,
                **config.optimizer_options(),
            )
            self.trainer.compile(self.model, optimizer, task.losses(), task.metrics())
        self._note_start(shape)

    def load_start(self):
        """Returns the model's `AlbertConfig` and its checkpoint; see `load_start`."""
        return load_start(self.config, self.tokenizer.vocabulary_size())

    def build_model(self, shape, checkpoint):
        """Builds the model to train; call it inside the strategy's scope."""
        return build_model(self.task, shape, checkpoint, self.config.precision)

    def make_task(self):
        """Returns the `PretrainingTask`."""
        pairs = self.example_config.sentence_pairs
        return PretrainingTask(pairs, self.config.hardest_pairs)

    def train(self):
        """Trains to the end, from the newest checkpoint if there is one, and saves."""
        config = self.config
        held_out = self.held_out and self.task.make_validation_dataset(
            self.held_out, config.batch_size, **self.reading
        )
        if self.strategy.is_chief:
            self.folder.write(
                config,
                data=absolute(self.data),
                schedule=given_of(self.recipe, ("learning_rate", "warmup_steps")),
                training_files=self.training_files,
                examples=dataclasses.asdict(self.example_config),
            )
        # Also when a run is resumed: the model has the first weights until `fit`.
        self.start = self._measure() if config.checkpoint and self.held_out else {}
        if self.start and self.strategy.is_chief:
            scores = (f"{n} {format_value(v)}" for n, v in self.start.items())
            note(f"step 0: {', '.join(scores)}")
        with self.strategy.scope():
            self.trainer.fit(
                self.model,
                self.training_dataset,
                held_out,
                callbacks=self.phases.callbacks(self.model.backbone),
                enter_phase=self.enter_phase,
            )
        if self.strategy.is_chief:
            finished = self.task.finished_model(self.model, self.tokenizer)
            self.folder.save_model(finished, self.tokenizer)

    def report(self):
        """Evaluates the trained model on the held-out data; returns as `fit`."""
        results = self._measure() if self.held_out else {}
        if not self.strategy.is_chief:
            return None
        if self.start:
            results["start"] = self.start
        if self.held_out:
            write_json(self.folder.path / "report.json", {"scores": results})
        self.folder.save_learning_curve()
        parameters = self.model.backbone.count_params()
        return {"run": str(self.config.run), "parameters": parameters, **results}

    def _measure(self):
        """Returns the scores on the held-out data; all workers take part."""
        held_out = self.held_out, self.config.batch_size
        with self.strategy.scope():
            return self.task.evaluate(self.model, *held_out, **self.reading)

    def _note_start(self, shape):
        recipe, config = self.recipe, self.config
        model = (
            f"{shape.num_layers} layers of width {shape.hidden_dim}, "
            f"{shape.vocabulary_size:,} pieces, "
            f"{self.model.backbone.count_params():,} parameters"
        )
        training = (
            f"{recipe.optimizer}, learning rate {recipe.learning_rate:.3g}, batch "
            f"{config.batch_size}, {config.num_steps} steps with {recipe.warmup_steps} "
            f"of warm-up, length {self.example_config.sequence_length}"
        )
        note(f"{model}; {training}")
        for number, phase in enumerate(config.phases or (), start=1):
            note(f"phase {number}: {phase.replace(',', ', ')}")
        if not self.held_out:
            note(
                "nothing is held out, so no loss will be measured: give data of other "
                "documents by --validation-data"
            )

    def training_dataset(self, step):
        """Returns endless training batches from a step on."""
        shard = self.strategy.shard
        return self.phases.make_dataset(self.task, self.data, step, shard)

    def enter_phase(self, step):
        """Sets the depth for the training of the model from a step on."""
        self.phases.enter(self.model.backbone, step)


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
        sizes = [phase.num_steps for phase in self.phases]
        self.starts = (0, *itertools.accumulate(sizes[:-1]))
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
        return [RepeatedPositions(backbone, self)]


class RepeatedPositions(keras.callbacks.Callback):
    """Copies the positions that a phase trains to the rest of the position table.

    Longer rows, in evaluations and in later phases, then start with trained positions. It
    happens before each evaluation and checkpoint.

    Args:
        backbone: `AlbertBackbone`.
        phases: `RunPhases`.

    Reference: Beltagy et al. 2020, Longformer, section 5.
    """

    def __init__(self, backbone, phases):
        super().__init__()
        self.table = backbone.embedding.position_embedding.position_embeddings
        self.phases = phases

    def on_test_begin(self, logs=None):
        sync_variables(self.model)
        length = self.phases.examples[self.phases.current].sequence_length
        trained = keras.ops.convert_to_numpy(self.table)[:length]
        self.table.assign(np.resize(trained, self.table.shape))

    def on_epoch_end(self, epoch, logs=None):
        # For runs without held-out data.
        self.on_test_begin()


def _check(phases, config, examples, shape):
    """Raises a ValueError if phases do not fit data or model."""
    if examples is None:
        raise ValueError(
            "Phases need a token store, to make their own examples. "
            f"Received: data='{config.data}'. Prepare the text with --format store."
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


def load_start(config, vocabulary_size):
    """Returns the `AlbertConfig` of a model to pretrain, and the model of its checkpoint.

    The model is None if the weights are random. A checkpoint has its own shape; options
    for another one are a ValueError.
    """
    if not config.checkpoint:
        return config.shape(vocabulary_size=vocabulary_size), None
    options = config.model_options
    fixed = {name: value for name, value in options.items() if name not in FREE}
    fixed["preset"] = config.preset
    check_unused(fixed, fixed, "a model with the weights of a checkpoint")
    # A backbone alone gets new heads.
    head = "pretraining" if converters.find_checkpoint(config.checkpoint).head else None
    checkpoint = converters.load_checkpoint(config.checkpoint, head=head)
    checkpoint = converters.change_architecture(checkpoint, **options)
    return getattr(checkpoint, "backbone", checkpoint).albert_config, checkpoint


def build_model(task, shape, checkpoint=None, precision=None):
    """Builds a task's model, with the weights of a checkpoint's model if there is one.

    A head gets the checkpoint's weights if the checkpoint has it. A sentence-pair head
    with other classes is new.
    """
    backbone = AlbertBackbone(**shape.to_dict(), dtype=precision)
    model = task.build_model(backbone)
    if checkpoint is None:
        return model
    backbone.set_weights(getattr(checkpoint, "backbone", checkpoint).get_weights())
    heads = {layer.name: layer for layer in checkpoint.layers}
    for layer in model.layers:
        if layer.name not in ("mlm", "sop") or layer.name not in heads:
            continue
        head = heads[layer.name]
        if [v.shape for v in layer.weights] == [v.shape for v in head.weights]:
            layer.set_weights(head.get_weights())
        else:
            note(
                f"the checkpoint's sentence-pair head has {head.units} classes and not "
                f"{layer.units}: the model has a new one"
            )
    return model


def example_config(folder, config):
    """Returns the `PretrainingDataConfig` for examples from a token store.

    For finished examples it is None.

    Raises:
        ValueError: If options are given that have no effect on prepared data.
    """
    given = config.data_options if config.data else {}
    are_finished = not is_store(read_description(folder))
    late = set(given) if are_finished else given.keys() & {*PREPARED}
    if late:
        raise ValueError(
            "Prepared data cannot change: these options need `text`. "
            f"Received: {', '.join(sorted(late))} with data='{config.data}'."
        )
    return None if are_finished else dataclasses.replace(read_config(folder), **given)


def held_out_config(folder, shape):
    """Returns the `PretrainingDataConfig` of held-out rows, cut to a model's positions.

    For finished examples, and without held-out data, it is None.
    """
    if folder is None or not is_store(read_description(folder)):
        return None
    config = read_config(folder)
    longest = min(config.sequence_length, shape.max_sequence_length)
    return dataclasses.replace(config, sequence_length=longest)


def read_config(folder):
    """Returns the `PretrainingDataConfig` of data, or the default one if unknown."""
    description = read_description(folder) or {}
    return PretrainingDataConfig.from_dict(description.get("config", {}))


def fingerprint_data(folder):
    """Returns a list with the `[path, fingerprint]` of each file of prepared data.

    Raises:
        FileNotFoundError: If there is no data, or a file is missing.
    """
    description, files = read_description(folder), None
    if is_store(description):
        files = [to_path(folder) / name for name in description["shards"]]
    return fingerprint_files(files or find_shards(to_path(folder)))


def check_data(folder, tokenizer, shape, examples=None):
    """Checks that prepared data, if it has a description, fits tokenizer and model.

    `examples` is the `PretrainingDataConfig`, or None for that of the data.

    Raises:
        ValueError: If the data was made with another tokenizer, its rows are longer than
            the model's positions, or they are packed and the model has block attention.
    """
    description = read_description(folder)
    if description is None:
        return
    examples = examples or read_config(folder)
    check_fits(tokenizer, shape, examples.sequence_length)
    if examples.packing == "filled" and shape.attention == "block":
        raise ValueError(
            "Block attention takes rows of one example. Received: packing=filled, "
            "attention=block. Use packing=padded, or attention=full."
        )
    fingerprint = description.get("tokenizer_fingerprint")
    if fingerprint != tokenizer.fingerprint():
        raise ValueError(
            "The data must be made with the given tokenizer. Received: fingerprint "
            f"{fingerprint} of '{folder}', {tokenizer.fingerprint()} of the tokenizer."
        )


def find_data(config, tokenizer, strategy):
    """Returns the folder of the training data, after preparing it from text."""
    if config.data:
        return config.data
    if strategy.num_workers > 1:
        raise ValueError(
            "Several workers need `data`, of `prepare-data`, on a disk that all of them "
            f"see. Received: text and {strategy.num_workers} workers."
        )
    folder = data_folder(config)
    config.prepare(config.text, tokenizer, folder, holds_out=not config.validation_data)
    return folder


def data_folder(config):
    """Returns the folder of the data that a run prepares from text."""
    return pathlib.Path(config.run, "tokens")
