"""Write a `finetune` run as a SavedModel that takes text, or as a TFLite file.

examples:
  albert-keras export runs/sst2 --format saved_model --output saved_models/sst2/1
  albert-keras export runs/sst2 --format tflite --quantization int8 --output sst2.tflite
"""

from albert_keras import runs
from albert_keras.cli.choices import EXPORT_FORMATS
from albert_keras.cli.results import print_results

USAGE = "RUN --output PATH [options]"


def add_arguments(parser):
    parser.add_argument("run_folder", help="folder of a `finetune` run")
    parser.add_argument("--output", required=True, help="folder or file to write")
    parser.add_argument(
        "--format",
        default="saved_model",
        choices=EXPORT_FORMATS,
        help="format to write (default: saved_model)",
    )
    parser.add_argument(
        "--quantization",
        choices=["float16", "int8"],
        help="smaller weights, for TFLite only (default: none)",
    )
    parser.add_argument(
        "--inputs",
        choices=["text", "ids"],
        help="inputs of the model (default: text for a SavedModel, ids for TFLite)",
    )
    parser.add_argument(
        "--sequence-length",
        type=int,
        help="maximum number of tokens (default: as in the run)",
    )


def run(arguments):
    results = runs.export_run(
        arguments.run_folder,
        arguments.output,
        arguments.format,
        inputs=arguments.inputs,
        quantization=arguments.quantization,
        sequence_length=arguments.sequence_length,
    )
    print_results("export", results, arguments.json)
