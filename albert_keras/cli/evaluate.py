"""Measure a model on held-out data.

A `pretrain` run is measured on prepared data; a `finetune` run, a checkpoint with a head
or an exported model (SavedModel of text, TFLite, ONNX) on rows of its task.

A SavedModel is a program that can read and write files: trust its source.

examples:
  albert-keras evaluate runs/base --data records/held_out/
  albert-keras evaluate runs/sst2 --data SST-2/dev.tsv --report runs/sst2/dev
  albert-keras evaluate sst2.tflite --data SST-2/dev.tsv --text-column sentence
"""

from albert_keras import runs
from albert_keras.cli.options import (
    EXIT_GROUP,
    add_option,
    add_options,
    add_tokenizer_options,
    config_from,
    given_tokenizer,
)
from albert_keras.cli.results import print_results
from albert_keras.options import check_unused
from albert_keras.presets.hub import check_known
from albert_keras.runs.finetuning_config import (
    COLUMNS,
    ROW_FIELDS,
    BatchOptions,
    ExitOptions,
    RowOptions,
)
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
        help="folder for report.json, mistakes.csv, the page report.html and the plot of "
        "confused classes (default: none)",
    )
    add_option(parser, BatchOptions, "batch_size")
    add_tokenizer_options(parser.add_argument_group("tokenizer"))
    add_options(parser, RowOptions, (), {"files of rows": ROW_FIELDS})
    add_options(parser, ExitOptions, (), EXIT_GROUP)


def run(arguments):
    if runs.kind_of_run(arguments.model) == PretrainingRunConfig.kind:
        check_unused(vars(arguments), (*COLUMNS, "report"), "a run of `pretrain`")
    # First, because the run imports Keras.
    check_known(arguments.model)
    results = runs.evaluate_run(
        arguments.model,
        arguments.data,
        batch_size=arguments.batch_size,
        reading=config_from(arguments, RowOptions),
        report=arguments.report,
        exit_rule=config_from(arguments, ExitOptions).rule(),
        tokenizer=given_tokenizer(arguments, arguments.model),
    )
    print_results("evaluation", results, arguments.json)
