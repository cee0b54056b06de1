"""Write a `finetune` run as a SavedModel that takes text, or as a TFLite file.

examples:
  albert-keras export runs/sst2 --format saved_model --output saved_models/sst2/1
  albert-keras export runs/sst2 --format tflite --quantization int8 --output sst2.tflite
"""

import pathlib

from albert_keras.cli.results import print_results
from albert_keras.cli.run_folder import load_classifier
from albert_keras.export import EXPORTERS


def add_arguments(parser):
    parser.add_argument("run_folder", help="folder of a `finetune` run")
    parser.add_argument("--output", required=True)
    parser.add_argument("--format", default="saved_model", choices=list(EXPORTERS))
    parser.add_argument(
        "--quantization", choices=["float16", "int8"], help="TFLite only"
    )
    parser.add_argument(
        "--inputs",
        choices=["text", "ids"],
        help="what the model takes; text is the default of a SavedModel, ids of TFLite",
    )
    parser.add_argument("--sequence-length", type=int)


def run(arguments):
    model, labels = load_classifier(arguments.run_folder)
    options = {"labels": labels, "sequence_length": arguments.sequence_length}
    default_inputs = "text"
    if arguments.format == "tflite":
        options["quantization"] = arguments.quantization
        default_inputs = "ids"
    elif arguments.quantization:
        raise ValueError(
            "`--quantization` is for TFLite. "
            f"Received: {arguments.quantization} with --format {arguments.format}."
        )
    if (arguments.inputs or default_inputs) == "text":
        options["tokenizer"] = model.preprocessor.tokenizer
    EXPORTERS[arguments.format](model, arguments.output, **options)
    results = {
        "output": arguments.output,
        "bytes": size_bytes(arguments.output),
        "parameters": model.count_params(),
    }
    print_results("export", results, arguments.json)


def size_bytes(path):
    """Returns the size of a file, or of all files in a folder."""
    path = pathlib.Path(path)
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
