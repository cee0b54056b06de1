"""SavedModel: for TensorFlow Serving and every TensorFlow program."""

import pathlib

import numpy as np
import tensorflow as tf

from albert_keras.checks import import_optional
from albert_keras.export.associated_files import (
    measured,
    read_labels,
    write_associated_files,
)
from albert_keras.export.signatures import (
    SERVING_SIGNATURE,
    TEXT_INPUTS,
    TextPredictor,
    backbone_config,
    check_backend,
    check_tokenizer,
    choose_labels,
    choose_sequence_length,
    own_preprocessor,
    serve_features,
    takes_pairs,
    text_preprocessor,
    write_signatures,
)
from albert_keras.files import atomic_folder, check_replaceable_folder
from albert_keras.models.copies import in_float32
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor

PAIR_SIGNATURE = "serve_pairs"
GRAPH_FILE = "saved_model.pb"
# Files beside the graph, which TensorFlow itself does not read.
EXTRA_ASSETS = "assets.extra"


def export_saved_model(
    model, path, tokenizer="auto", labels=None, sequence_length=None
):
    """Writes a model as a SavedModel that takes ids or, with a tokenizer, text.

    A program must import `tensorflow_text` before it loads a SavedModel with a text
    signature, so ids and text are two kinds of files. Every weight is stored once, in
    float32, whatever the precision of the training, or in int8 after `quantize("int8")`.

    Without a tokenizer, `serving_default` takes the model's int32 inputs by name, of
    any batch size and length; the files of its preprocessor, if any, are beside the
    graph in `assets.extra`. With a tokenizer, `serving_default` takes the strings
    `text`, and `serve_pairs` the strings `text` and `text_pair`; of a model whose
    preprocessor takes pairs, both signatures take pairs. The graph tokenizes, packs and
    truncates like `AlbertTextClassifierPreprocessor`.

    Outputs are float32 with the model's names; classifiers of texts or tokens have
    `logits`, `probabilities` and, with labels of which one holds, the string `label`;
    regression `logits` and `score`.

    Args:
        model: One of our models.
        path: str or path. The folder to write; a SavedModel in it is replaced.
        tokenizer: A tokenizer of this package, or `None` for a model of ids. `"auto"`
            means that of the model's preprocessor, if it has one for text.
        labels: list of str. Name of each class of a classifier. Default: the model's
            own `labels`, if it has them.
        sequence_length: int. Tokens that texts are truncated or padded to, if there is a
            tokenizer. Default: the preprocessor's length, else 128 or the model's number
            of positions, whichever is less.

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
    check_backend()
    labels = choose_labels(model, labels)
    model, preprocessor = in_float32(model), None
    if tokenizer == "auto":
        tokenizer = getattr(text_preprocessor(model), "tokenizer", None)
    if tokenizer is not None:
        signatures = _text_signatures(model, tokenizer, labels, sequence_length)
    elif sequence_length is not None:
        raise ValueError(
            "A SavedModel of ids takes any length; `sequence_length` needs a "
            f"tokenizer. Received: sequence_length={sequence_length}, tokenizer=None."
        )
    else:
        signatures = {SERVING_SIGNATURE: serve_features(model, labels)}
        preprocessor = own_preprocessor(model)
    with atomic_folder(path) as folder:
        write_signatures(model, signatures, folder)
        write_associated_files(folder / EXTRA_ASSETS, model, labels, preprocessor)
    return measured(path)


def is_saved_model(path):
    """Returns whether `path` is a SavedModel folder."""
    return pathlib.Path(path, GRAPH_FILE).is_file()


def load_saved_model(path):
    """Loads a SavedModel that takes text, as a `TextPredictor`.

    Args:
        path: str or path. A folder written by `export_saved_model` with a tokenizer.
    """
    if not is_saved_model(path):
        raise ValueError(
            f"`path` must be a SavedModel, a folder with the file {GRAPH_FILE}. "
            f"Received: path={str(path)!r}."
        )
    # Registers the tokenizer's operations.
    import_optional("tensorflow_text", "lite")
    signatures = tf.saved_model.load(str(path)).signatures
    inputs = {}
    if SERVING_SIGNATURE in signatures:
        _, inputs = signatures[SERVING_SIGNATURE].structured_input_signature
    if set(inputs) not in ({"text"}, {"text", "text_pair"}):
        raise ValueError(
            f"The SavedModel's signature {SERVING_SIGNATURE} must take `text`. "
            f"Received: path={str(path)!r} with inputs {', '.join(inputs) or 'none'}. "
            "Export the model again with `tokenizer`."
        )

    def predict_batch(*segments):
        segments = zip(TEXT_INPUTS, map(tf.constant, segments), strict=False)
        outputs = signatures[SERVING_SIGNATURE](**dict(segments))
        outputs = {name: value.numpy() for name, value in outputs.items()}
        if "label" in outputs:
            outputs["label"] = np.array([label.decode() for label in outputs["label"]])
        return outputs

    classes = read_labels(pathlib.Path(path, EXTRA_ASSETS))
    return TextPredictor(predict_batch, classes, takes_pairs="text_pair" in inputs)


def _text_signatures(model, tokenizer, labels, sequence_length):
    check_tokenizer(model, tokenizer)
    own = text_preprocessor(model)
    sequence_length = choose_sequence_length(model, sequence_length, own)
    preprocessor = AlbertTextClassifierPreprocessor(
        tokenizer, sequence_length=sequence_length
    )
    # Traced once for both signatures: the graph of a deep model is large.
    run = serve_features(model, labels, sequence_length)

    @tf.function(autograph=False)
    def serve(text, text_pair=None):
        segments = (text,) if text_pair is None else (text, text_pair)
        features = preprocessor(x=segments)
        return run(**{name: tf.cast(ids, tf.int32) for name, ids in features.items()})

    text, text_pair = (tf.TensorSpec((None,), tf.string, name) for name in TEXT_INPUTS)
    if backbone_config(model).num_segments == 1:
        return {SERVING_SIGNATURE: serve.get_concrete_function(text)}
    pairs = serve.get_concrete_function(text, text_pair)
    single = pairs if takes_pairs(own) else serve.get_concrete_function(text)
    return {SERVING_SIGNATURE: single, PAIR_SIGNATURE: pairs}
