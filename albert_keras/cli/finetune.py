r"""Fine-tune a task, from a checkpoint.

Tasks: those of GLUE, IMDB and Chinese ones on files in their official layouts or from
TFDS; `text-classification`, `text-regression` and others on any TSV, CSV or JSONL file.
Hyperparameters default to the task's recipe, for the paper's tasks its table 14. With
held-out rows the checkpoint that is best by the task's metric is kept. A run that
collapses to one answer is stopped, with the reason, and started again if asked.

examples:
  albert-keras finetune --task sst-2 --data GLUE/SST-2 --checkpoint runs/base \
      --run runs/sst2
  albert-keras finetune --task rte --data tfds --checkpoint runs/mnli --seeds 5 \
      --run runs/rte
  albert-keras finetune --task text-classification --train reviews.csv \
      --validation more.csv --checkpoint albert_base_v2/ --tokenizer 30k-clean.model \
      --run runs/reviews
"""

import re

from albert_keras import runs
from albert_keras.cli.options import (
    TRAINING_GROUPS,
    add_dry_run,
    add_options,
    config_from,
)
from albert_keras.cli.results import print_dry_run, print_results
from albert_keras.runs.finetuning_config import ROW_FIELDS, FinetuningRunConfig
from albert_keras.runs.finetuning_task import read_early

FIRST = (
    *("task", "checkpoint", "train", "validation", "validation_split", "data", "run"),
    *("learning_rate", "batch_size", "num_epochs"),
)
GROUPS = {
    "recipe": (
        *("num_steps", "sequence_length", "dropout", "classifier_dropout"),
        "pad_to_maximum",
    ),
    "selection and guards": (
        *("keep", "metric", "patience", "restarts", "collapse_guard", "seeds"),
    ),
    "files of rows": ROW_FIELDS,
    **TRAINING_GROUPS,
    "tokenizer": ("tokenizer", "cased", "keep_accents"),
    "start": ("random_weights", "freeze"),
    "hyperparameters of the model": ("model_options",),
    "options of some tasks": ("task_options",),
}

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")

USAGE = "--task NAME --checkpoint MODEL --train FILE --run FOLDER [options]"


def add_arguments(parser):
    add_options(parser, FinetuningRunConfig, FIRST, GROUPS)
    add_dry_run(parser)


def run(arguments):
    arguments.class_weights = parse_class_weights(arguments.class_weights)
    config = config_from(arguments, FinetuningRunConfig)
    read_early(config)
    finetuning = runs.FinetuningRun(config)
    if arguments.dry_run:
        print_dry_run(finetuning.dry_run(), arguments.json)
    else:
        print_results(config.task, finetuning.fit(), arguments.json)


def parse_class_weights(words):
    """Returns `balanced`, or a dict from a label to its weight, or None."""
    if words is None or words == ["balanced"]:
        return words and "balanced"
    weights = {}
    for word in words:
        label, _, weight = word.rpartition("=")
        if not label or not _NUMBER.fullmatch(weight):
            raise ValueError(
                "Class weights must be `balanced` or LABEL=WEIGHT, with weights that are "
                f"not negative. Received: {' '.join(words)}."
            )
        weights[label] = float(weight)
    return weights
