"""Options and steps that pretraining and fine-tuning runs share."""

import dataclasses
from collections.abc import Mapping

from albert_keras import training
from albert_keras.config import ATTENTION_FIELDS, PRESETS, AlbertConfig
from albert_keras.options import (
    BATCH_SIZES,
    MAX_STEPS,
    SEEDS,
    STEPS,
    Options,
    Range,
    members_of,
    option,
)
from albert_keras.runs.preparation import TokenizerOptions
from albert_keras.system.fingerprints import first_change
from albert_keras.tokenizers.loading import check_vocabulary_size

_TRAINER_OPTIONS = (
    *("steps_per_evaluation", "steps_per_checkpoint", "steps_per_execution"),
    *("micro_batches", "jit_compile"),
)
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OptimizerOptions(Options):
    """Options of `optimizers.make_optimizer`, for all optimizers, under its names."""

    weight_decay: float = option(
        "weight decay of all but biases and normalizations", 0.01, Range(0, 1)
    )

    def optimizer_options(self):
        """Returns the options, a dict."""
        names = OptimizerOptions.__dataclass_fields__
        return {name: getattr(self, name) for name in names}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions(TokenizerOptions, OptimizerOptions):
    """Options of all training runs."""

    run: str = option("folder of the run, which is resumed if it was begun")
    num_steps: int | None = option(
        "optimizer steps (default: of the recipe)", None, STEPS
    )
    batch_size: int | None = option(
        "examples per step (default: of the recipe)", None, BATCH_SIZES
    )
    learning_rate: float | None = option(
        "peak learning rate (default: of the recipe)", None, Range(above=0, maximum=100)
    )
    warmup_steps: int | None = option(
        "steps of linear warm-up (default: of the recipe)", None, Range(0, MAX_STEPS)
    )
    seed: int = option("seed of all random numbers", 0, SEEDS)
    strategy: str = option(
        "devices: default, one; mirrored, all GPUs of this machine; data_parallel, "
        "devices and machines on JAX (KERAS_BACKEND=jax); tpu (only the lowering of its "
        "step is tested)",
        "default",
        choices=training.STRATEGIES,
    )
    precision: str | None = option("Keras dtype policy", "float32", choices=PRECISIONS)
    micro_batches: int = option(
        "parts of a batch, one after the other, to save memory",
        training.TrainerConfig.micro_batches,
        Range(1, 256),
    )
    steps_per_execution: int = option(
        "steps per call, for accelerators",
        training.TrainerConfig.steps_per_execution,
        Range(1, 10_000),
    )
    jit_compile: bool | None = option(
        "compile with XLA (default: where there is an accelerator)", None
    )
    steps_per_evaluation: int | None = option(
        "steps between evaluations, each followed by a checkpoint (default: an epoch of "
        "`finetune`; an eighth of `pretrain`, at most 5000)",
        None,
        STEPS,
    )
    steps_per_checkpoint: int | None = option(
        "steps between further checkpoints, if runs may be killed", None, STEPS
    )


# Fields that change a preset, and what the help says of their defaults.
_CHANGES = {
    "num_layers": "of the preset",
    "num_heads": "one for each 64 of --hidden-dim",
    "embedding_dim": "of the preset",
    "hidden_dim": "of the preset",
    "intermediate_dim": "4 * hidden",
    "num_groups": "of the preset",
    "num_inner_repetitions": "of the preset",
    "dropout": "of the preset",
    "attention_dropout": "--dropout",
    "max_sequence_length": "of the preset",
    "initializer_range": "of the preset",
    "sharing": "of the preset",
    "rematerialization": "of the preset",
    **dict.fromkeys(ATTENTION_FIELDS, "of the preset"),
}


def changed_fields(defaults):
    """Returns the `members` of an option that changes fields of `AlbertConfig`.

    `defaults` maps the names of the fields to what the help says of their defaults.
    """
    helps = {
        name: f"{AlbertConfig.__dataclass_fields__[name].metadata['help']} "
        f"(default: {said})"
        for name, said in defaults.items()
    }
    return members_of(AlbertConfig, helps)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShapeOptions(Options):
    """The shape of a model.

    Example:

    >>> ShapeOptions(model_options={"hidden_dim": 256}).shape().num_heads
    4
    """

    preset: str | None = option(
        "shape to start from", "albert_base_v2", choices=PRESETS
    )
    model_options: Mapping = option(
        "fields of `AlbertConfig` that differ from the preset's",
        members=changed_fields(_CHANGES),
    )

    def shape(self, **fixed):
        """Returns the `AlbertConfig`, with further fields `fixed`.

        The width follows where only `hidden_dim` is given: the feed-forward network is
        four times as wide, and a head has 64 columns, as in the paper.
        """
        options = dict(self.model_options)
        if "hidden_dim" in options:
            options.setdefault("intermediate_dim", 4 * options["hidden_dim"])
            options.setdefault("num_heads", max(1, options["hidden_dim"] // 64))
        return AlbertConfig.from_preset(self.preset, **options, **fixed)


def make_trainer(config, strategy, num_steps, **defaults):
    """Returns a run's `Trainer`; `defaults` are for options that are not given."""
    options = {"steps_per_log": max(1, min(50, num_steps // 20)), **defaults}
    for name in _TRAINER_OPTIONS:
        if getattr(config, name) is not None:
            options[name] = getattr(config, name)
    trainer_config = training.TrainerConfig(num_steps, **options)
    return training.Trainer(config.run, trainer_config, strategy)


def check_micro_batches(micro_batches, batch_size, strategy):
    """Raises a ValueError if a device has fewer examples of a batch than parts."""
    if micro_batches * strategy.num_replicas > batch_size:
        raise ValueError(
            "Each micro-batch of each device needs an example. Received: batch_size="
            f"{batch_size}, {micro_batches=}, {strategy.num_replicas} devices."
        )


def check_fits(tokenizer, model_config, sequence_length):
    """Raises a ValueError if a vocabulary or a length does not fit a model."""
    if sequence_length > model_config.max_sequence_length:
        raise ValueError(
            f"Rows must fit the model's positions. Received: {sequence_length=}, "
            f"max_sequence_length={model_config.max_sequence_length}."
        )
    check_vocabulary_size(tokenizer, model_config.vocabulary_size)


def check_unchanged(files, recorded):
    """Checks that training data are those that a run began with.

    Args:
        files: List of `[path, fingerprint]`, as `fingerprint_files` returns it.
        recorded: Dict, the `run.json` of a run that is resumed; else empty. Earlier
            versions recorded no files; of these runs the paths must stay.

    Raises:
        ValueError: If the content of a file has changed, with its path.
    """
    path = first_change(recorded.get("training_files", files), files)
    if path is not None:
        raise ValueError(
            f"A run is resumed with its own training data. Received: '{path}', which has "
            "changed, or is other data. Take another run folder, or restore the data."
        )
