"""SavedModel, for TensorFlow Serving and other TensorFlow programs."""

import contextlib
import pathlib

import numpy as np
import tensorflow as tf

from albert_keras.checks import check_choice, import_optional, shortened
from albert_keras.compression.tensorflow_exits import exit_early
from albert_keras.export import signatures
from albert_keras.export.associated_files import measured, write_beside
from albert_keras.export.exported_model import load_beside
from albert_keras.export.text.graph import PLAIN_KINDS, in_groups, text_signatures
from albert_keras.export.text.kinds import TEXT_KINDS, task_to_export
from albert_keras.system.files import atomic_folder, check_replaceable_folder

# Dtype policies by quantization.
PRECISIONS = {None: "float32", "bfloat16": "mixed_bfloat16"}
GRAPH_FILE = "saved_model.pb"
# Folder of files beside the graph, which TensorFlow does not read.
EXTRA_ASSETS = "assets.extra"


def export_saved_model(
    model,
    path,
    tokenizer="auto",
    labels=None,
    sequence_length=None,
    task=None,
    exit_rule=None,
    quantization=None,
):
    """Writes a model as a SavedModel that takes token ids or, with a tokenizer, text.

    A program must import `tensorflow_text` before it loads a SavedModel that takes text.
    Every weight is stored once, in float32, or in int8 after `quantize("int8")`. The
    graph computes in float32, whatever the precision of the training, or in bfloat16.

    Without a tokenizer, the signature `serving_default` takes the model's int32 inputs by
    name (for a joint question answerer the inputs of its `beam_model`), of any batch size
    and length. The folder `assets.extra` has the files of the model's preprocessor or
    task, if any, with which `load_exported` predicts from text.

    With a tokenizer, `serving_default` takes the strings `text`, and `serve_pairs` the
    strings `text` and `text_pair`. Both take pairs if the model's preprocessor does. The
    graph tokenizes, packs and truncates like `AlbertTextClassifierPreprocessor`. A
    classifier runs on groups of rows of similar length. The rows of a backbone, whose
    outputs have the length as an axis, are padded to the longest of the batch; it also
    returns `mean_output`, the mean of `sequence_output` over the tokens of each text.
    Other heads answer text like their tasks, as documented by the classes in
    `export.text`: `masked_words`, `choices`, `tagging` and `questions`.

    Keras' `TFSMLayer` calls each signature, by its name or as `serve`, with its only
    input or a dict of inputs.

    Outputs are float32 and have the model's names. Classifiers of texts or tokens have
    `logits`, `probabilities` and, with labels of classes that exclude each other, the
    string `label`; regression has `logits` and `score`; embedders have `embedding`.

    An `AlbertEarlyExitClassifier` stops early, by its calibrated rule or `exit_rule`, in
    a loop of the graph. Its outputs have the int32 `exit_depth`.

    Args:
        model: One of our models.
        path: str or path. The folder to write; a SavedModel in it is replaced.
        tokenizer: A tokenizer of this package, or `None` for a model of ids. `"auto"`
            means that of the task or the model's preprocessor, if it has one for text.
        labels: list of str. Name of each class of a classifier. Default: the model's own
            `labels`, if it has them.
        sequence_length: int. Tokens that longer texts are truncated to, with a tokenizer.
            Default: the preprocessor's length, else 128 or the model's number of
            positions, whichever is less. Without a tokenizer, a fixed length of the rows
            of ids; default: any length.
        task: Task of another head than a classifier's, such as that of `load_run(...)`.
            The graph gets its options, such as `null_threshold`, `max_answer_length` or
            `top_k`. Default: the task of the model's preprocessor.
        exit_rule: `compression.ExitRule` of a model with exits, in place of its own.
        quantization: `None` (float32) or `"bfloat16"`, for processors with bfloat16
            instructions (AVX-512 with bf16, AMX); on others it is slower.

    Returns:
        `Exported`: the `path`, and `num_bytes` of all files.

    Example:

    >>> import tempfile
    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> folder = tempfile.mkdtemp()
    >>> exported = export_saved_model(backbone, folder)
    >>> sorted(tf.saved_model.load(folder).signatures["serving_default"].output_shapes)
    ['pooled_output', 'sequence_output']
    """
    check_replaceable_folder(path, GRAPH_FILE)
    check_choice("quantization", quantization, PRECISIONS)
    spec = signatures.spec_to_export(model, labels, PRECISIONS[quantization])
    if tokenizer == "auto" and spec.kind == "logits":
        tokenizer = None
    elif tokenizer == "auto":
        source = spec.preprocessor if spec.kind in PLAIN_KINDS else task
        tokenizer = getattr(source or spec.preprocessor, "tokenizer", None)
    calls = signatures.exit_calls(spec, exit_early, exit_rule)
    task = task_to_export(spec, task, tokenizer, sequence_length)
    if tokenizer is not None and spec.kind in TEXT_KINDS:
        functions = TEXT_KINDS[spec.kind].signatures(spec, task)
    elif tokenizer is not None:
        task, given = None, (tokenizer, tokenizer.tokenize, sequence_length, calls)
        functions = text_signatures(spec, *given, in_groups, with_label=True)
    else:
        sizes = signatures.sizes_of_ids(spec, sequence_length, batch_size=None)
        functions = signatures.id_signatures(spec, calls, with_label=True, **sizes)
    with atomic_folder(path) as folder:
        endpoints = signatures.keras_endpoints(functions)
        signatures.write_signatures(spec.model, functions, folder, endpoints)
        assets = assets_of(folder)
        write_beside(assets, spec, task, takes_text=tokenizer is not None)
    return measured(path)


def is_saved_model(path):
    """Returns whether `path` is a SavedModel folder."""
    return pathlib.Path(path, GRAPH_FILE).is_file()


def assets_of(path):
    """Returns the folder of a SavedModel's labels, tokenizer and other files."""
    return pathlib.Path(path, EXTRA_ASSETS)


def load_saved_model(path):
    """Returns the `ExportedModel` of a SavedModel: see `load_exported`."""
    # Registers the tokenizer's operations.
    import_optional("tensorflow_text", "lite")
    with contextlib.suppress(FileNotFoundError):  # Older SavedModels have none.
        # The loader only prints a traceback if it is damaged.
        tf.saved_model.experimental.read_fingerprint(str(path))
    loaded, inputs = tf.saved_model.load(str(path)), {}
    if signatures.SERVING_SIGNATURE in loaded.signatures:
        serve = loaded.signatures[signatures.SERVING_SIGNATURE]
        _, specs = serve.structured_input_signature
        inputs = {name: spec.shape for name, spec in specs.items()}

    def run(features, name=signatures.SERVING_SIGNATURE):
        tensors = {name: _as_tensor(value) for name, value in features.items()}
        outputs = call_signature(loaded.signatures[name], tensors)
        return {name: _as_array(value) for name, value in outputs.items()}

    return load_beside(path, assets_of(path), run, inputs, loaded.signatures)


def call_signature(signature, tensors):
    """Returns a signature's outputs; raises a one-line ValueError for wrong inputs."""
    try:
        return signature(**tensors)
    except tf.errors.InvalidArgumentError as error:
        preamble = ("Graph execution error", "Detected at node", "<stack traces")
        lines = filter(str.strip, error.message.splitlines())
        reason = next(line for line in lines if not line.startswith(preamble))
        raise ValueError(
            shortened(reason.removeprefix("assertion failed: "))
        ) from error


def _as_tensor(values):
    """Returns a tensor; lists of str are padded with `""`."""
    if isinstance(values, list) and not isinstance(values[0], str):
        return tf.ragged.constant(values, tf.string, ragged_rank=1).to_tensor()
    return tf.constant(values)


def _as_array(tensor):
    """Returns a NumPy array, of str for a tensor of strings."""
    array = tensor.numpy()
    if tensor.dtype != tf.string:
        return array
    decoded = [value.decode() for value in array.ravel().tolist()]
    return np.array(decoded, dtype=str).reshape(array.shape)
