"""Data and commands of an ablation: vocabulary, token stores, pretraining runs."""

import pathlib
from typing import NamedTuple

from albert_keras.runs.ablation_arms import ABLATIONS
from albert_keras.runs.preparation import HELD_OUT

BATCH_SIZE = 64
WARMUP = 0.05
# Evaluations of a run.
NUM_EVALUATIONS = 4
# How rows are cut and masked where an arm does not say otherwise. All arms are measured
# on such rows.
ROWS = (
    *("--sentence-pairs", "none", "--masking", "token", "--masked-rate", "0.2"),
    *("--short-sequence-prob", "0"),
)
TRAINING = ("--recipe", "two_cores", "--learning-rate", "0.003")
# A quarter of the hidden size. With the recipe's, which is the hidden size, few of the
# short runs leave the loss of unigrams: docs/results/ablations.md.
SHAPE = ("--embedding-dim", "32")


class AblationData(NamedTuple):
    """Paths of an ablation's vocabulary and of the token stores of its arms.

    Attributes:
        tokenizer: str, as of `pretrain`.
        folder: path. The store of all documents is in `tokens`, with held-out ones.
        checkpoint: str, path or None. Weights that all runs start from.
    """

    tokenizer: str
    folder: pathlib.Path
    checkpoint: str | None = None

    @property
    def held_out(self):
        """Store of the documents that all arms are measured on."""
        return self.store(1.0) / HELD_OUT

    def store(self, share):
        """Returns the token store with a share of the documents."""
        return self.folder / ("tokens" if share == 1 else f"tokens-{share}")


def preparing_commands(config, data):
    """Yields the commands that make an ablation's data, each a list of words.

    A store with fewer documents holds out more of them, among these all that are held
    out of the whole, because documents are drawn by keys that depend on the seed alone.

    Args:
        config: `AblationConfig`.
        data: `AblationData`.
    """
    model = data.folder / "vocabulary.model"
    if data.tokenizer == str(model) and not model.exists():
        size = ("--vocabulary-size", config.vocabulary_size, "--output", model)
        yield [*map(str, ("train-vocabulary", *config.text, *size))]
    for share in {arm.documents: None for arm in config.chosen_arms.values()} | {1: 1}:
        words = ["prepare-data", *config.text, "--tokenizer", data.tokenizer]
        words += ["--output", data.store(share), "--dynamic", *ROWS]
        words += ["--sequence-length", config.sequence_length]
        if share < 1:
            words += ["--validation-split", round(1 - share, 6)]
        yield [*map(str, words)]


def pretraining_command(config, data, arm, num_steps, seed, run):
    """Returns the words of `pretrain` for a run of an arm.

    Args:
        config: `AblationConfig`.
        data: `AblationData`.
        arm: `Arm`.
        num_steps: int. Optimizer steps.
        seed: int. Of the weights and of the order of documents, the same in all arms.
        run: path. Folder of the run.
    """
    length = str(config.sequence_length)
    words = ["pretrain", "--data", data.store(arm.documents), "--run", run]
    words += ["--validation-data", data.held_out, "--tokenizer", data.tokenizer]
    words += [*TRAINING, "--batch-size", BATCH_SIZE, *ROWS, "--sequence-length", length]
    words += ["--max-sequence-length", length, "--seed", seed]
    words += ["--warmup-steps", round(WARMUP * num_steps)]
    words += ["--steps-per-evaluation", max(1, num_steps // NUM_EVALUATIONS)]
    words += ["--checkpoint", data.checkpoint] if data.checkpoint else SHAPE
    words += [*ABLATIONS[config.name].options, *config.pretrain_option, *arm.options]
    if not arm.growth:
        return [*map(str, (*words, "--num-steps", num_steps))]
    phases = [
        f"num_steps={max(1, round(share * num_steps))},batch_size={BATCH_SIZE},"
        f"num_layers={num_layers}"
        for share, num_layers in arm.growth
    ]
    rest = 1 - sum(share for share, _ in arm.growth)
    phases.append(
        f"num_steps={max(1, round(rest * num_steps))},batch_size={BATCH_SIZE}"
    )
    return [*map(str, (*words, "--phases", *phases))]


def seconds_per_step(measured, arm):
    """Returns the core-seconds of a step of an arm, of phases in their shares.

    `measured` are the results of `pretrain --dry-run`.
    """
    if not arm.growth:
        return measured["core_seconds_per_step"]
    shares = [share for share, _ in arm.growth]
    shares.append(1 - sum(shares))
    phases = measured["phases"].values()
    return sum(
        share * phase["core_seconds_per_step"]
        for share, phase in zip(shares, phases, strict=True)
    )
