"""Write a `finetune` run as a SavedModel that takes text, or as a TFLite file.

examples:
  albert-keras export runs/sst2 --format saved_model --output saved_models/sst2/1
  albert-keras export runs/sst2 --format tflite --quantization int8 --output sst2.tflite
"""

import dataclasses

from albert_keras import runs
from albert_keras.cli.choices import EXPORT_FORMATS
from albert_keras.cli.options import add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.config import MAX_POSITIONS
from albert_keras.options import Options, option

USAGE = "RUN --output PATH [options]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportOptions(Options):
    """Form of an exported model."""

    format: str = option("format to write", "saved_model", choices=EXPORT_FORMATS)
    quantization: str | None = option(
        "smaller weights, for TFLite only (default: none)",
        None,
        choices=("float16", "int8"),
    )
    inputs: str | None = option(
        "inputs of the model (default: text for a SavedModel, ids for TFLite)",
        None,
        choices=("text", "ids"),
    )
    sequence_length: int | None = option(
        "maximum number of tokens (default: as in the run)",
        None,
        minimum=1,
        maximum=MAX_POSITIONS,
    )


def add_arguments(parser):
    parser.add_argument("run_folder", help="folder of a `finetune` run")
    parser.add_argument("--output", required=True, help="folder or file to write")
    add_options(parser, ExportOptions, ExportOptions.__dataclass_fields__, {})


def run(arguments):
    options = config_from(arguments, ExportOptions)
    results = runs.export_run(
        arguments.run_folder, arguments.output, **dataclasses.asdict(options)
    )
    print_results("export", results, arguments.json)
