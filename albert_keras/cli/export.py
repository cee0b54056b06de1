"""Write a `finetune` run as a SavedModel that takes text, or as a TFLite file.

examples:
  albert-keras export runs/sst2 --format saved_model --output saved_models/sst2/1
  albert-keras export runs/sst2 --format tflite --quantization int8 --output sst2.tflite
"""

import pathlib

from albert_keras import export, runs
from albert_keras.cli.choices import EXPORT_FORMATS
from albert_keras.cli.results import print_results


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
        "--quantization", choices=["float16", "int8"], help="TFLite only"
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
    task, model = runs.load_finetuned(arguments.run_folder)
    options = {"sequence_length": arguments.sequence_length}
    if labels := getattr(task, "labels", None):
        options["labels"] = list(labels)
    exporter = export.EXPORTERS[arguments.format]
    if "quantization" in exporter.options:
        options["quantization"] = arguments.quantization
    elif arguments.quantization:
        raise ValueError(
            "`--quantization` is for TFLite. "
            f"Received: {arguments.quantization} with --format {arguments.format}."
        )
    takes_text = (arguments.inputs or exporter.default_inputs) == "text"
    if takes_text and getattr(model, "preprocessor", None) is None:
        # The graph must pack text in the way the model was trained.
        raise ValueError(
            "A model that takes text must have been fine-tuned on the beginnings of "
            "texts or pairs. "
            f"Received: '{arguments.run_folder}', of another kind, or trained with "
            "--long-texts. Export it with `--inputs ids`."
        )
    options["tokenizer"] = task.tokenizer if takes_text else None
    exporter.write(model, arguments.output, **options)
    output = pathlib.Path(arguments.output)
    files = [file for file in (output, *output.rglob("*")) if file.is_file()]
    results = {
        "output": arguments.output,
        "bytes": sum(file.stat().st_size for file in files),
        "parameters": model.count_params(),
    }
    print_results("export", results, arguments.json)
