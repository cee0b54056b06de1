"""Evaluate a model on held-out data.

For a run of `pretrain`, --data is a folder of `prepare-data`. For a run of `finetune`, a
checkpoint with a head or an exported model, --data has rows of the task.

A SavedModel is a program that can read and write files: use only ones that you trust.

examples:
  albert-keras evaluate runs/base --data records/held_out/
  albert-keras evaluate runs/sst2 --data SST-2/dev.tsv --report runs/sst2/dev
  albert-keras evaluate sst2.tflite --data SST-2/dev.tsv --text-column sentence
"""

from albert_keras import runs
from albert_keras.cli.options import InferenceOptions, add_options, inference_options
from albert_keras.cli.results import print_results
from albert_keras.options import check_unused
from albert_keras.presets.hub import check_known
from albert_keras.runs.finetuning_config import COLUMNS
from albert_keras.runs.pretraining_config import PretrainingRunConfig

USAGE = "MODEL --data DATA [options]"


def add_arguments(parser):
    parser.add_argument(
        "model", help="run, exported model or checkpoint, see `predict`"
    )
    parser.add_argument(
        "--data", required=True, help="folder of `prepare-data`, or rows of the task"
    )
    parser.add_argument(
        "--report",
        help="folder for report.json, mistakes.csv, the page report.html and a plot of "
        "confused classes (default: none)",
    )
    add_options(parser, InferenceOptions)


def run(arguments):
    if runs.kind_of_run(arguments.model) == PretrainingRunConfig.kind:
        check_unused(vars(arguments), (*COLUMNS, "report"), "a run of `pretrain`")
    # Before the run, which imports Keras.
    check_known(arguments.model)
    results = runs.evaluate_run(
        arguments.model,
        arguments.data,
        report=arguments.report,
        **inference_options(arguments),
    )
    print_results("evaluation", results, arguments.json)
