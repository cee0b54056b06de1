"""ONNX: for ONNX Runtime and every program that reads its format."""

import pathlib

import tensorflow as tf

from albert_keras.checks import import_optional
from albert_keras.child_process import usable_cores
from albert_keras.export.associated_files import measured
from albert_keras.export.ids_predictor import load_beside, write_beside
from albert_keras.export.signatures import (
    check_backend,
    choose_labels,
    predicting_model,
    serve_features,
)
from albert_keras.files import atomic_folder, check_replaceable_folder
from albert_keras.models.copies import in_precision

MODEL_FILE = "model.onnx"
# LayerNormalization is one operation from 17 on; tf2onnx writes at most 18.
OPSET = 17


def export_onnx(
    model, path, tokenizer=None, labels=None, sequence_length=None, task=None
):
    """Writes a model of ids as a folder with `model.onnx` and its preprocessor.

    The graph takes the model's int32 inputs by name, of any batch size and length, and
    gives the float32 outputs of `export_saved_model`, without `label`; of a joint
    question answerer those of its `beam_model`. Shared weights are stored once. ONNX
    Runtime alone runs it; the tokenizer, `labels.txt` and the task beside it are for
    `load_onnx` and other programs.

    There is no text in the graph: SentencePiece in ONNX Runtime's extensions ends a text
    at a NUL, where the tokenizer goes on. Other ids are equal (3,461 lines of English
    and Chinese).

    Args:
        model: One of our models. One with exits goes to full depth.
        path: str or path. The folder to write; one with `model.onnx` is replaced.
        tokenizer: Must be `None`: the graph takes ids.
        labels: As for `export_saved_model`.
        sequence_length: Must be `None`: the graph takes rows of any length.
        task: As for `export_saved_model`, of any head.

    Returns:
        `Exported`: the `path`, and `num_bytes` of all files.

    Raises:
        ValueError: If there is a tokenizer or a length.
        ImportError: If tf2onnx is absent.

    Example:

    ```python
    ak.export_onnx(classifier, "sst2_onnx")
    ak.load_exported("sst2_onnx").predict(["a charming journey"])["probabilities"]
    ```
    """
    check_replaceable_folder(path, MODEL_FILE)
    check_backend()
    if tokenizer is not None or sequence_length is not None:
        raise ValueError(
            "An ONNX model takes ids, of rows of any length; the tokenizer is stored "
            f"beside it. Received: tokenizer={tokenizer!r}, "
            f"sequence_length={sequence_length!r}."
        )
    labels = choose_labels(model, labels)
    model = in_precision(model)
    content = _convert(serve_features(predicting_model(model)))
    with atomic_folder(path) as folder:
        (folder / MODEL_FILE).write_bytes(content)
        write_beside(folder, model, labels, task)
    return measured(path)


def is_onnx(path):
    """Returns whether `path` is a folder of an ONNX model."""
    return pathlib.Path(path, MODEL_FILE).is_file()


def load_onnx(path):
    """Loads a folder of `export_onnx` to predict from text.

    Args:
        path: str or path.

    Returns:
        `TextPredictor` of a classifier, `IdsPredictor` of another head.

    Raises:
        ValueError: If there is no ONNX model, or no tokenizer and task beside it.
        ImportError: If onnxruntime is absent.
    """
    runtime = import_optional("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = usable_cores()
    file = pathlib.Path(path, MODEL_FILE)
    errors = import_optional("onnxruntime.capi.onnxruntime_pybind11_state", "onnx")
    try:
        session = runtime.InferenceSession(
            file, options, providers=["CPUExecutionProvider"]
        )
    except (errors.Fail, errors.InvalidProtobuf, errors.NoSuchFile) as error:
        raise ValueError(
            f"`path` must be a folder with an ONNX model, {MODEL_FILE}. Received: "
            f"path={str(path)!r}; {error}."
        ) from error
    names = [output.name for output in session.get_outputs()]

    def run(features):
        return dict(zip(names, session.run(names, features), strict=True))

    predictor = load_beside(path, run)
    if predictor is None:
        raise ValueError(
            "An ONNX model must have a tokenizer and a task beside it to predict from "
            f"text. Received: path={str(path)!r}. Export a model that has a preprocessor."
        )
    return predictor


def _convert(serve):
    """Returns the bytes of the ONNX model of a concrete function."""
    tf2onnx = import_optional("tf2onnx", "onnx")
    _, specs = serve.structured_input_signature
    names = sorted(specs)

    @tf.function(autograph=False, input_signature=[specs[name] for name in names])
    def by_place(*inputs):
        return serve(**dict(zip(names, inputs, strict=True)))

    proto, _ = tf2onnx.convert.from_function(
        by_place, [specs[name] for name in names], opset=OPSET
    )
    return proto.SerializeToString(deterministic=True)
