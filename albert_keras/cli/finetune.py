r"""Fine-tune a task, from a checkpoint.

Tasks: those of GLUE, IMDB and Chinese ones on files in their official layouts or from
TFDS; `text-classification`, `text-regression` and others on any TSV, CSV or JSONL file.
Hyperparameters default to the task's recipe, for the paper's tasks its table 14. With
held-out rows the checkpoint that is best by the task's metric is kept. A run that
collapses to one answer is stopped, with the reason, and begun again if asked.

examples:
  albert-keras finetune --task sst-2 --data GLUE/SST-2 --checkpoint runs/base \
      --run runs/sst2
  albert-keras finetune --task rte --data tfds --checkpoint runs/mnli --seeds 5 \
      --run runs/rte
  albert-keras finetune --task text-classification --train reviews.csv \
      --validation more.csv --checkpoint albert_base_v2/ --tokenizer 30k-clean.model \
      --run runs/reviews
"""

import argparse

from albert_keras.cli.finetuning import finetune
from albert_keras.cli.finetuning_seeds import finetune_seeds
from albert_keras.cli.results import print_results
from albert_keras.cli.run_folder import add_training_arguments, positive_int
from albert_keras.cli.task_arguments import add_task_arguments
from albert_keras.cli.tokenizer_arguments import add_tokenizer_arguments
from albert_keras.shipped import SHIPPED_MODELS

FROZEN = ("embeddings", "backbone")


def add_arguments(parser):
    add_task_arguments(parser)
    parser.add_argument(
        "--data", help="folder in the task's layout, or `tfds` for TensorFlow Datasets"
    )
    parser.add_argument("--train", help="file of training rows, instead of --data")
    parser.add_argument("--validation", help="file of held-out rows, likewise")
    parser.add_argument(
        "--checkpoint",
        required=True,
        help="run, preset, Google or Hugging Face folder, or a shipped model: "
        + ", ".join(SHIPPED_MODELS),
    )
    add_tokenizer_arguments(parser)
    parser.add_argument(
        "--random-weights",
        action="store_true",
        help="take only shape and tokenizer of the checkpoint, as a baseline",
    )
    add_training_arguments(parser)
    add_recipe_arguments(parser.add_argument_group("recipe"))
    add_guard_arguments(parser.add_argument_group("guards and selection"))


def add_recipe_arguments(group):
    """Adds what may differ from the task's recipe, beside the training arguments."""
    group.add_argument("--sequence-length", type=positive_int)
    group.add_argument("--num-epochs", type=positive_int, help="for --num-steps")
    group.add_argument("--dropout", type=float, help="in the encoder")
    group.add_argument("--classifier-dropout", type=float, help="before the head")
    group.add_argument("--weight-decay", type=float, default=0.01)
    group.add_argument(
        "--layer-decay",
        type=float,
        default=1.0,
        help="factor of the learning rate from each layer to the one below (default: 1)",
    )
    group.add_argument("--freeze", choices=FROZEN, help="part that is not trained")
    group.add_argument(
        "--pad-to-maximum",
        action="store_true",
        help="pad all to the longest length, instead of batches of like length",
    )


def add_guard_arguments(group):
    """Adds what decides which weights a run ends with."""
    group.add_argument(
        "--keep",
        choices=["best", "last"],
        default="best",
        help="checkpoint to end with, where there are held-out rows (default: best)",
    )
    group.add_argument(
        "--patience",
        type=positive_int,
        help="evaluations without a better one after which training ends",
    )
    group.add_argument(
        "--restarts",
        type=int,
        default=0,
        help="times that a collapsed run begins again from the same weights, each at "
        "half the rate (default: 0, it fails)",
    )
    group.add_argument(
        "--collapse-guard",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="stop a run that gives one answer to everything",
    )
    group.add_argument(
        "--seeds",
        type=positive_int,
        default=1,
        help="runs, with seeds from --seed on; the median and the spread are reported",
    )


def run(arguments):
    if arguments.seeds > 1 and not arguments.dry_run:
        results = finetune_seeds(arguments)
    else:
        results = finetune(arguments)
    if results:
        print_results(arguments.task, results, arguments.json)
