r"""Fine-tune a checkpoint for a task.

GLUE, IMDB and other benchmarks read files in their official layouts, or TFDS.
`text-classification`, `text-regression` and others read any TSV, CSV or JSONL file. Each
task has a recipe of hyperparameters. For the tasks of the ALBERT paper it is from the
paper's table 14. Models narrower than 768 have a higher learning rate, and train for 3
epochs, or for up to 50 epochs until they have made 300 steps. If there are held-out rows,
the run keeps the checkpoint with the best score. If the model gives the same answer to
all rows, the run stops and prints the reason; with --restarts it starts again.

examples:
  albert-keras finetune --task sst-2 --data GLUE/SST-2 --checkpoint runs/base \
      --run runs/sst2
  albert-keras finetune --task rte --data tfds --checkpoint runs/mnli --seeds 5 \
      --run runs/rte
  albert-keras finetune --task text-classification --train reviews.csv \
      --validation more.csv --checkpoint albert_base_v2/ --tokenizer 30k-clean.model \
      --run runs/reviews
"""

from albert_keras import runs
from albert_keras.cli.options import add_dry_run, add_options, config_from
from albert_keras.cli.results import train
from albert_keras.runs.finetuning_config import FinetuningRunConfig
from albert_keras.runs.finetuning_task import read_early

USAGE = "--task NAME --checkpoint MODEL --train FILE --run FOLDER [options]"


def add_arguments(parser):
    add_options(parser, FinetuningRunConfig)
    add_dry_run(parser)


def run(arguments):
    arguments.class_weights = parse_class_weights(arguments.class_weights)
    config = config_from(arguments, FinetuningRunConfig)
    read_early(config)
    train(config.task, runs.FinetuningRun(config), arguments)


def parse_class_weights(words):
    """Returns `balanced`, or a dict from a label to its weight, or None."""
    if words is None or words == ["balanced"]:
        return words and "balanced"
    pairs = [word.rpartition("=") for word in words]
    try:
        return {label: float(weight) for label, _, weight in pairs}
    except ValueError:
        raise ValueError(
            "Class weights must be `balanced` or LABEL=WEIGHT, with numbers as weights. "
            f"Received: {' '.join(words)}."
        ) from None
