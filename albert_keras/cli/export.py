r"""Write a run, or a checkpoint, as a SavedModel, a TFLite file or an ONNX folder.

A SavedModel takes text. A TFLite file takes token ids, and contains the vocabulary and
the task. With `--inputs text`, the TFLite file of a classifier, regression, embedder or
backbone takes text. An ONNX folder takes token ids. `predict` and `evaluate` read all of
them, except with `--names huggingface`. Keras' backend must be TensorFlow.

A run of `finetune --early-exit` keeps the exit rule of `calibrate`.

With `--format serving`, the output path ends with a name and a version, such as
models/reviews/1. The folder of all models, here `models`, gets the files for TensorFlow
Serving. To start the server, run `docker compose up` in that folder.

examples:
  albert-keras export runs/sst2 --format saved_model --output saved_models/sst2/1
  albert-keras export runs/sst2 --format serving --output models/sst2/1
  albert-keras export runs/sst2 --format onnx --output sst2_onnx
  albert-keras export runs/sst2 --format onnx --names huggingface --output sst2_hf
  albert-keras export runs/ner --format tflite --output ner.tflite
  albert-keras export runs/sst2 --format tflite --quantization int8 --output sst2.tflite
"""

import dataclasses

from albert_keras import runs
from albert_keras.cli.choices import EXPORT_FORMATS
from albert_keras.cli.options import add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.config import MAX_POSITIONS
from albert_keras.options import BATCH_SIZES, Options, Range, option
from albert_keras.runs.finetuning_config import ExitOptions

USAGE = "RUN --output PATH [options]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportOptions(Options):
    """Form of an exported model."""

    output: str = option("folder or file to write")
    format: str = option("format to write", "saved_model", choices=EXPORT_FORMATS)
    quantization: str | None = option(
        "float16 or int8 weights in TFLite, bfloat16 products in a SavedModel",
        None,
        choices=("float16", "int8", "bfloat16"),
    )
    inputs: str | None = option(
        "inputs of the model (default: text for a SavedModel, otherwise ids)",
        None,
        choices=("text", "ids"),
    )
    sequence_length: int | None = option(
        "maximum number of tokens of text inputs (default: that of the run); fixed "
        "length of ids (default: any)",
        None,
        Range(1, MAX_POSITIONS),
    )
    batch_size: int | None = option(
        "fixed batch size of ids in TFLite and ONNX (default: any)", None, BATCH_SIZES
    )
    names: str | None = option(
        "names and files of ONNX: huggingface, for transformers.js (default: names of "
        "this package)",
        None,
        choices=("huggingface",),
    )
    dimensions: int | None = option(
        "leading dimensions of an embedder to keep (default: all)",
        None,
        Range(1, 2**16),
    )


def add_arguments(parser):
    parser.add_argument("run_folder", help="folder of a run, or a checkpoint")
    add_options(parser, ExportOptions)
    add_options(parser, ExitOptions)


def run(arguments):
    options = config_from(arguments, ExportOptions)
    results = runs.export_run(
        arguments.run_folder,
        exit_rule=config_from(arguments, ExitOptions).rule(),
        **dataclasses.asdict(options),
    )
    print_results("export", results, arguments.json)
