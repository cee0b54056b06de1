"""Registry of export formats."""

import dataclasses
import pathlib
import typing

from albert_keras.export import saved_model
from albert_keras.export.onnx import export_onnx, is_onnx, load_onnx
from albert_keras.export.serving import export_serving
from albert_keras.export.tflite import export_tflite, is_tflite, load_tflite


@dataclasses.dataclass(frozen=True)
class ExportFormat:
    """An export format.

    Args:
        write: Function `(model, path, tokenizer=None, labels=None,
            sequence_length=None, **options)` that returns an `Exported`.
        load: Function from a path to an `ExportedModel`.
        recognizes: Function from a path to bool. Whether the content has the format.
        files: str. Description of the files, for error messages.
        default_inputs: `"text"` or `"ids"`, the default of the `export` command.
        options: Tuple of str. Names of further options of `write`.
    """

    write: typing.Callable
    load: typing.Callable
    recognizes: typing.Callable
    files: str
    default_inputs: str = "ids"
    options: tuple = ()


_SAVED_MODEL = ExportFormat(
    saved_model.export_saved_model,
    saved_model.load_saved_model,
    saved_model.is_saved_model,
    files="a SavedModel folder",
    default_inputs="text",
    options=("task", "exit_rule", "quantization"),
)
EXPORTERS = {
    "saved_model": _SAVED_MODEL,
    # A version for TensorFlow Serving is a SavedModel.
    "serving": dataclasses.replace(_SAVED_MODEL, write=export_serving),
    "tflite": ExportFormat(
        *(export_tflite, load_tflite, is_tflite, "a TFLite file"),
        options=("quantization", "exit_rule", "task", "batch_size"),
    ),
    "onnx": ExportFormat(
        *(export_onnx, load_onnx, is_onnx, "an ONNX folder"),
        options=("task", "batch_size", "names"),
    ),
}


def is_exported(path):
    """Returns whether `path` is an exported model."""
    recognized = any(format.recognizes(path) for format in EXPORTERS.values())
    # Runs and presets are folders, so a file can only be an exported model.
    return recognized or pathlib.Path(path).is_file()


def load_exported(path):
    """Loads an exported model that takes text, or that has its tokenizer beside it.

    A SavedModel is a program that can write files. Load only SavedModels that you trust.

    Args:
        path: str or path. A SavedModel folder, a TFLite file or an ONNX folder. The
            content tells the format.

    Returns:
        `ExportedModel`; see its `predict`.

    Raises:
        FileNotFoundError: If there is no such path.
        ImportError: If the runtime of the format is absent.
        ValueError: If the content has none of the formats or is damaged, or if the model
            takes ids and has no tokenizer beside it.

    Example:

    ```python
    classifier = ak.load_exported("sst2.tflite")
    classifier.predict(["a charming journey"])["label"]
    ```
    """
    if not pathlib.Path(path).exists():
        raise FileNotFoundError(f"The exported model '{path}' does not exist.")
    for format in EXPORTERS.values():
        if format.recognizes(path):
            return format.load(path)
    files = " or ".join(dict.fromkeys(format.files for format in EXPORTERS.values()))
    raise ValueError(
        f"`path` must be an exported model: {files}. Received: path={str(path)!r}."
    )
