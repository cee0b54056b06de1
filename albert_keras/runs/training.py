"""Options and steps that pretraining and fine-tuning runs share."""

import dataclasses
from collections.abc import Mapping

from albert_keras import training
from albert_keras.config import PRESETS, AlbertConfig
from albert_keras.options import (
    BATCH_SIZES,
    MAX_STEPS,
    SEEDS,
    STEPS,
    Options,
    Range,
    given_of,
    members_of,
    option,
)
from albert_keras.runs.preparation import ModelTokenizerOptions
from albert_keras.system.fingerprints import first_change
from albert_keras.tokenizers.loading import check_vocabulary_size

PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OptimizerOptions(Options):
    """Optimizer.

    The names are those of `optimizers.make_optimizer`.
    """

    weight_decay: float = option(
        "weight decay, except of biases and normalizations", 0.01, Range(0, 1)
    )

    def optimizer_options(self):
        """Returns the options, a dict."""
        return given_of(self, OptimizerOptions.__dataclass_fields__)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceOptions(Options):
    """Devices."""

    strategy: str = option(
        "devices: default, one; mirrored, all GPUs of this machine; data_parallel, "
        "devices and machines on JAX (KERAS_BACKEND=jax); tpu (a test only compiles its "
        "step)",
        "default",
        choices=training.STRATEGIES,
    )
    precision: str | None = option("Keras dtype policy", "float32", choices=PRECISIONS)
    micro_batches: int = option(
        "parts of a batch, computed one after the other to save memory",
        training.TrainerConfig.micro_batches,
        Range(1, 256),
    )
    steps_per_execution: int = option(
        "steps per call of the compiled function, for accelerators",
        training.TrainerConfig.steps_per_execution,
        Range(1, 10_000),
    )
    jit_compile: bool | None = option(
        "compile with XLA (default: on accelerators)", None
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluationOptions(Options):
    """Evaluations and checkpoints."""

    steps_per_evaluation: int | None = option(
        "steps between evaluations, each followed by a checkpoint (default: an epoch of "
        "`finetune`; an eighth of `pretrain`, at most 5000)",
        None,
        STEPS,
    )
    steps_per_checkpoint: int | None = option(
        "steps between additional checkpoints, if runs may be killed", None, STEPS
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions(
    OptimizerOptions, ModelTokenizerOptions, DeviceOptions, EvaluationOptions
):
    """Training."""

    run: str = option("folder of the run, to begin or to resume")
    num_steps: int | None = option(
        "optimizer steps (default: the recipe's)", None, STEPS
    )
    batch_size: int | None = option(
        "examples per step (default: the recipe's)", None, BATCH_SIZES
    )
    learning_rate: float | None = option(
        "peak learning rate (default: the recipe's)", None, Range(above=0, maximum=100)
    )
    warmup_steps: int | None = option(
        "steps of linear warm-up (default: the recipe's)", None, Range(0, MAX_STEPS)
    )
    seed: int = option("seed of all random numbers", 0, SEEDS)


# Fields of `AlbertConfig` that depend on the tokenizer and on the form of rows.
OF_TEXT = ("vocabulary_size", "num_segments")


def changed_fields(names, default, **defaults):
    """Returns the `members` of an option that changes fields of `AlbertConfig`.

    Args:
        names: Names of the fields.
        default: str. The description of the default in their help.
        **defaults: The descriptions of some fields that have another one.
    """
    fields = AlbertConfig.__dataclass_fields__
    helps = {
        name: f"{fields[name].metadata['help']} (default: {defaults.get(name, default)})"
        for name in names
    }
    return members_of(AlbertConfig, helps)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShapeOptions(Options):
    """Size of the model: a preset, and changes.

    Example:

    >>> ShapeOptions(model_options={"hidden_dim": 256}).shape().num_heads
    4
    """

    preset: str | None = option("size of the model", "albert_base_v2", choices=PRESETS)
    model_options: Mapping = option(
        "fields of `AlbertConfig` that differ from the preset's",
        members=changed_fields(
            [n for n in AlbertConfig.__dataclass_fields__ if n not in OF_TEXT],
            "the preset's",
            num_heads="one for each 64 of --hidden-dim",
            intermediate_dim="4 * hidden",
            attention_dropout="--dropout",
        ),
    )

    def shape(self, **fixed):
        """Returns the `AlbertConfig`, with further fields `fixed`.

        With another `hidden_dim` the feed-forward network is by default four times as
        wide, and a head has 64 columns, as in the paper.
        """
        options = dict(self.model_options)
        if "hidden_dim" in options:
            options.setdefault("intermediate_dim", 4 * options["hidden_dim"])
            options.setdefault("num_heads", max(1, options["hidden_dim"] // 64))
        return AlbertConfig.from_preset(self.preset, **options, **fixed)


def make_trainer(config, strategy, num_steps, **defaults):
    """Returns a run's `Trainer`. `defaults` are for options that are not set."""
    known = training.TrainerConfig.__dataclass_fields__.keys() - {"num_steps"}
    options = {"steps_per_log": max(1, min(50, num_steps // 20)), **defaults}
    options |= given_of(config, config.__dataclass_fields__.keys() & known)
    trainer_config = training.TrainerConfig(num_steps, **options)
    return training.Trainer(config.run, trainer_config, strategy)


def check_micro_batches(micro_batches, batch_size, strategy):
    """Raises a ValueError if a device has fewer examples in a batch than parts."""
    if micro_batches * strategy.num_replicas > batch_size:
        raise ValueError(
            "Each micro-batch of each device needs an example. Received: batch_size="
            f"{batch_size}, {micro_batches=}, {strategy.num_replicas} devices."
        )


def check_fits(tokenizer, model_config, sequence_length):
    """Raises a ValueError if a vocabulary or a sequence length is too large."""
    if sequence_length > model_config.max_sequence_length:
        raise ValueError(
            f"Rows must fit the model's positions. Received: {sequence_length=}, "
            f"max_sequence_length={model_config.max_sequence_length}. Add positions by "
            "`convert --max-sequence-length`, or read less of each row."
        )
    check_vocabulary_size(tokenizer, model_config.vocabulary_size)


def check_unchanged(files, recorded):
    """Checks that the training data of a run are the same as when it began.

    Args:
        files: List of `[path, fingerprint]`, as from `fingerprint_files`.
        recorded: Dict, the `run.json` of a run that is resumed, or empty.

    Raises:
        ValueError: If the content of a file has changed, with its path.
    """
    path = first_change(recorded.get("training_files", files), files)
    if path is not None:
        raise ValueError(
            f"A run is resumed with its own training data. Received: '{path}', which has "
            "changed, or is other data. Take another run folder, or restore the data."
        )
