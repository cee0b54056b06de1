"""ONNX, for ONNX Runtime and other programs that read the format."""

import json
import pathlib

from albert_keras.checks import check_choice, import_optional
from albert_keras.converters.heads import head_of
from albert_keras.converters.saving import head_to_write
from albert_keras.export import huggingface_names, signatures
from albert_keras.export.associated_files import measured, write_beside
from albert_keras.export.exported_model import load_beside
from albert_keras.export.onnx_graph import onnx_model
from albert_keras.export.text.kinds import task_to_export
from albert_keras.system.files import atomic_folder, check_replaceable_folder
from albert_keras.system.processor import usable_cores

MODEL_FILE = "model.onnx"


def export_onnx(
    model,
    path,
    tokenizer=None,
    labels=None,
    sequence_length=None,
    task=None,
    batch_size=None,
    names=None,
):
    """Writes a folder with `model.onnx`, which takes token ids, and its preprocessor.

    The graph takes the model's int32 inputs by name, of any batch size and length (for a
    joint question answerer the inputs of its `beam_model`). It returns the float32
    outputs of `export_saved_model`, without `label`. Shared weights are stored once.
    ONNX Runtime needs only `model.onnx`; the tokenizer, `labels.txt` and the task beside
    it are for `load_exported` and other programs. Axes of any size are named `batch`,
    `length`, `masks` and `choices`. The metadata have the head as `task`, the maximum
    number of tokens as `sequence_length`, and the `labels` as JSON.

    With `names="huggingface"` the folder is for transformers.js and Optimum instead. It
    has `onnx/model.onnx`, `config.json` and the files of the tokenizer. The graph has the
    int64 inputs `input_ids`, `attention_mask` and `token_type_ids` and transformers'
    outputs; for an embedder Optimum's `token_embeddings` and `sentence_embedding`.
    `load_exported` does not read such a folder.

    The graph does not take text: SentencePiece in ONNX Runtime's extensions ends a text
    at a NUL character. All other ids were equal, for 3,461 lines of English and Chinese.

    Args:
        model: One of our models. A model with exits is exported at full depth.
        path: str or path. The folder to write; one with `model.onnx` is replaced.
        tokenizer: With `names`, the tokenizer to store, by default that of the task or
            the preprocessor. Otherwise `None`.
        labels: As for `export_saved_model`.
        sequence_length: int. A fixed length of the rows of ids; default: any length.
        task: As for `export_saved_model`, for any head.
        batch_size: int. A fixed number of rows; default: any number.
        names: `None`, or `"huggingface"` for the names and files of transformers.

    Returns:
        `Exported`: the `path`, and `num_bytes` of all files.

    Raises:
        ValueError: If there is a tokenizer without `names`, if a size does not fit the
            model, or if transformers has no such head.
        ImportError: If tf2onnx is absent.

    Example:

    ```python
    ak.export_onnx(classifier, "sst2_onnx")
    ak.load_exported("sst2_onnx").predict(["a charming journey"])["probabilities"]
    ```
    """
    check_choice("names", names, (None, "huggingface"))
    file = huggingface_names.MODEL_FILE if names else MODEL_FILE
    check_replaceable_folder(path, file)
    signatures.check_quantization(model, "ONNX", ("float8",), "Export the float model.")
    if tokenizer is not None and names is None:
        raise ValueError(
            "An ONNX model takes ids; the tokenizer of the model's preprocessor or task "
            f"is stored beside it. Received: tokenizer={tokenizer!r}. Leave it out."
        )
    head = head_of(model)
    if names:
        is_embedder = head == "text_embedding"
        head_to_write(model, "sentence-transformers" if is_embedder else names)
    spec = signatures.spec_to_export(model, labels)
    sizes = signatures.sizes_of_ids(spec, sequence_length, batch_size)
    if names:
        serve, inputs = huggingface_names.renamed_function(spec, **sizes)
    else:
        serve = signatures.serve_features(spec, **sizes)
        _, inputs = serve.structured_input_signature
    longest = sequence_length or getattr(spec.preprocessor, "sequence_length", None)
    longest = longest or spec.backbone.max_sequence_length
    metadata = {"task": head or "backbone", "sequence_length": str(longest)}
    if spec.labels is not None:
        metadata["labels"] = json.dumps(spec.labels, ensure_ascii=False)
    content = onnx_model(serve, inputs, metadata)
    with atomic_folder(path) as folder:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_bytes(content)
        if names:
            source = task or spec.preprocessor
            tokenizer = tokenizer or getattr(source, "tokenizer", None)
            huggingface_names.write_beside(folder, spec, head, tokenizer)
        else:
            write_beside(folder, spec, task_to_export(spec, task))
    return measured(path)


def is_onnx(path):
    """Returns whether `path` is a folder of an ONNX model."""
    return pathlib.Path(path, MODEL_FILE).is_file()


def load_onnx(path):
    """Returns the `ExportedModel` of a folder of `export_onnx`: see `load_exported`."""
    runtime = import_optional("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = usable_cores()
    file = pathlib.Path(path, MODEL_FILE)
    errors = import_optional("onnxruntime.capi.onnxruntime_pybind11_state", "onnx")
    try:
        session = runtime.InferenceSession(file, options, ["CPUExecutionProvider"])
    except (errors.Fail, errors.InvalidProtobuf) as error:
        raise ValueError(
            f"`path` must be a folder with an ONNX model, {MODEL_FILE}. Received: "
            f"path={str(path)!r}; {error}."
        ) from error
    names = [output.name for output in session.get_outputs()]

    def run(features):
        return dict(zip(names, session.run(names, features), strict=True))

    inputs = {each.name: each.shape for each in session.get_inputs()}
    return load_beside(path, path, run, inputs)
