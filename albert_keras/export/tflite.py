"""TFLite: one file for phones and small computers, run by LiteRT."""

import os
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from albert_keras.checks import import_optional
from albert_keras.export.associated_files import (
    PREPROCESSOR_FILE,
    append_files,
    extract_files,
    is_of_texts,
    measured,
    read_labels,
    write_associated_files,
)
from albert_keras.export.signatures import (
    SERVING_SIGNATURE,
    TEXT_INPUTS,
    TextPredictor,
    check_backend,
    check_tokenizer,
    check_vocabulary,
    choose_labels,
    choose_sequence_length,
    own_preprocessor,
    serve_features,
    takes_pairs,
    write_signatures,
)
from albert_keras.files import atomic_path, check_replaceable_file
from albert_keras.models.copies import in_float32
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from albert_keras.preset_files import read_object
from albert_keras.tokenizers import AlbertTokenizer
from albert_keras.tokenizers.base import EncoderTokenizer
from albert_keras.tokenizers.packing import pack_tensors

QUANTIZATIONS = (None, "float16", "int8")
# In bytes 4 to 8 of a FlatBuffers file.
FILE_IDENTIFIER = b"TFL3"
TOKENIZER_FILE = "tokenizer.json"


def export_tflite(
    model,
    path,
    quantization=None,
    tokenizer=None,
    labels=None,
    sequence_length=None,
    preprocessor=None,
):
    """Writes a model as a TFLite file that takes ids or, with a tokenizer, text.

    The signature `serving_default` takes the model's int32 inputs by name, any batch
    size with a fixed length, and runs without TensorFlow. The tokenizer of a
    preprocessor is stored as associated files, for `load_tflite` and other programs.

    With `tokenizer` the signature takes the strings `text`, and the file runs only with
    tensorflow-text's two custom operations. Ids equal the tokenizer's, except for text
    with a Greek final sigma, and each byte that is not UTF-8 is an unknown character.

    Outputs have the names of `export_saved_model`; `load_tflite` adds `label` from the
    associated file `labels.txt`. Shared weights are stored once, except for the token
    table of a pretrainer in int8, which is stored for each of its two uses.

    Args:
        model: One of our models.
        path: str or path. The file to write.
        quantization: `None` (float32, whatever the precision of the training),
            `"float16"` (weights) or `"int8"` (weights, with activations quantized
            dynamically): 4, 2 and 1 bytes a parameter.
        tokenizer: `AlbertTokenizer` to put in the graph, or `None`.
        labels, sequence_length: as for `export_saved_model`.
        preprocessor: Preprocessor to store beside a model of ids. Default: the model's
            own, if it has one. `load_tflite` uses that of a text classifier.

    Returns:
        `Exported`: the `path` and `num_bytes` of the file.

    Example:

    >>> import tempfile
    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.tflite")
    >>> exported = export_tflite(backbone, path, "int8")
    >>> path.read_bytes()[4:8]
    b'TFL3'
    """
    _check_request(path, quantization, tokenizer, preprocessor)
    check_backend()
    labels = choose_labels(model, labels)
    model, preprocessor = in_float32(model), preprocessor or own_preprocessor(model)
    sequence_length = choose_sequence_length(model, sequence_length, preprocessor)
    if tokenizer is not None:
        check_tokenizer(model, tokenizer)
        pairs = takes_pairs(preprocessor)
        signature = _serve_text(model, tokenizer, sequence_length, pairs)
        # It is in the graph.
        preprocessor = None
    else:
        signature = serve_features(model, sequence_length=sequence_length)
    if preprocessor is not None:
        check_vocabulary(model, preprocessor.tokenizer)
    # The tokenizer's operations are custom ones; the model needs none.
    content = _convert(
        model, signature, quantization, allow_custom_ops=tokenizer is not None
    )
    with tempfile.TemporaryDirectory() as folder, atomic_path(path) as temporary:
        write_associated_files(folder, model, labels, preprocessor)
        temporary.write_bytes(content)
        append_files(temporary, folder)
    return measured(path)


def is_tflite(path):
    """Returns whether `path` is a TFLite file, by its first bytes."""
    path = pathlib.Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(8)[4:] == FILE_IDENTIFIER


def load_tflite(path):
    """Loads a TFLite file with its tokenizer, as a `TextPredictor`.

    Args:
        path: str or path. A file written by `export_tflite` with a tokenizer or a
            preprocessor.

    Raises:
        ImportError: If ai-edge-litert is absent (or tensorflow-text, for a file that
            takes text).
    """
    litert = import_optional("ai_edge_litert.interpreter", "lite")
    options = {"model_path": str(path), "num_threads": os.cpu_count()}
    try:
        interpreter = litert.Interpreter(**options)
    except ValueError as error:
        raise ValueError(
            f"`path` must be a TFLite file. Received: path={str(path)!r}; {error}."
        ) from error
    inputs = interpreter.get_signature_list().get(SERVING_SIGNATURE, {}).get("inputs")
    with tempfile.TemporaryDirectory() as folder:
        extract_files(path, folder)
        classes = read_labels(folder)
        if inputs and set(inputs) <= set(TEXT_INPUTS):
            registrar = import_optional("tensorflow_text", "lite").tflite_registrar
            interpreter = litert.InterpreterWithCustomOps(
                custom_op_registerers=registrar.SELECT_TFTEXT_OPS, **options
            )
            return _make_predictor(interpreter, classes, len(inputs) == 2)
        has_tokenizer = pathlib.Path(folder, TOKENIZER_FILE).is_file()
        if inputs and has_tokenizer and is_of_texts(folder):
            tokenizer = EncoderTokenizer.from_preset(folder)
            # Files of earlier versions hold the tokenizer alone.
            has_config = pathlib.Path(folder, PREPROCESSOR_FILE).is_file()
            content = read_object(folder, PREPROCESSOR_FILE) if has_config else {}
            pairs = content.get("config", {}).get("takes_pairs", False)
            return _make_predictor(interpreter, classes, pairs, tokenizer)
    raise ValueError(
        "A TFLite file must hold the preprocessor of a text classifier to predict from "
        f"text. Received: path={str(path)!r} with inputs "
        f"{', '.join(inputs or ['unknown'])}. Export a classifier with `preprocessor`."
    )


def _make_predictor(interpreter, classes, takes_pairs, tokenizer=None):
    """Returns a `TextPredictor`; `tokenizer` is that of a signature of ids."""
    # LiteRT requires this before a signature is used.
    interpreter.allocate_tensors()
    serve = interpreter.get_signature_runner(SERVING_SIGNATURE)
    if tokenizer is not None:
        _, sequence_length = interpreter.get_input_details()[0]["shape"].tolist()
        preprocess = AlbertTextClassifierPreprocessor(
            tokenizer, sequence_length=sequence_length
        )

    def predict_batch(*segments):
        if tokenizer is not None:
            features = preprocess(x=segments).items()
            features = {name: np.asarray(ids, "int32") for name, ids in features}
        else:
            texts = (np.array(segment, dtype=object) for segment in segments)
            features = dict(zip(TEXT_INPUTS, texts, strict=False))
        return serve(**features)

    return TextPredictor(predict_batch, classes, takes_pairs)


def _serve_text(model, tokenizer, sequence_length, takes_pairs):
    """Traces a model on text, in operations that TFLite has."""
    tf_text = import_optional("tensorflow_text", "lite")
    pieces = tf_text.FastSentencepieceTokenizer(tokenizer.fused_proto())
    splits = tokenizer.encoder.digit_comma_splits
    run = serve_features(model, sequence_length=sequence_length)

    def encode(text):
        ids = pieces.tokenize(text)
        return _split_digit_commas(ids, splits) if splits else ids

    @tf.function(autograph=False)
    def serve(**texts):
        segments = [encode(texts[name]) for name in TEXT_INPUTS if name in texts]
        return run(**pack_tensors(segments, tokenizer, sequence_length))

    names = TEXT_INPUTS if takes_pairs else TEXT_INPUTS[:1]
    specs = {name: tf.TensorSpec((None,), tf.string, name) for name in names}
    return serve.get_concrete_function(**specs)


def _split_digit_commas(ids, splits):
    """Applies the digit-comma rule to int32 ragged ids; `splits` maps an id to several.

    TFLite cannot gather from a ragged table, so the table is padded with -1.
    """
    longest = max(len(parts) for parts in splits.values())
    whole = tf.constant(list(splits))
    parts = tf.constant([row + [-1] * (longest - len(row)) for row in splits.values()])

    flat = ids.flat_values[:, tf.newaxis]  # (num_ids, 1)
    matches = tf.equal(flat, whole)  # (num_ids, num_splits)
    row = tf.argmax(tf.cast(matches, tf.int32), axis=1)
    unsplit = tf.pad(flat, [[0, 0], [0, longest - 1]], constant_values=-1)
    is_split = tf.reduce_any(matches, axis=1, keepdims=True)
    table = tf.where(is_split, tf.gather(parts, row), unsplit)  # (num_ids, longest)

    is_piece = table >= 0
    num_pieces = tf.reduce_sum(tf.cast(is_piece, tf.int32), axis=1)
    ends = tf.pad(tf.cumsum(num_pieces), [[1, 0]])
    return tf.RaggedTensor.from_row_splits(
        tf.boolean_mask(table, is_piece),
        tf.gather(ends, ids.row_splits),
        validate=False,
    )


def _convert(model, signature, quantization, allow_custom_ops):
    # From a SavedModel on disk: the other inputs of the converter lose variables.
    with tempfile.TemporaryDirectory() as folder:
        write_signatures(model, {SERVING_SIGNATURE: signature}, folder)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=[SERVING_SIGNATURE]
        )
        converter.allow_custom_ops = allow_custom_ops
        if quantization is not None:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantization == "float16":
            converter.target_spec.supported_types = [tf.float16]
        return converter.convert()


def _check_request(path, quantization, tokenizer, preprocessor):
    check_replaceable_file(path)
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            f"`quantization` must be one of {', '.join(map(repr, QUANTIZATIONS))}. "
            f"Received: quantization={quantization!r}."
        )
    if tokenizer is None:
        return
    if preprocessor is not None:
        raise ValueError(
            "Either `tokenizer` goes into the graph or `preprocessor` beside it. "
            f"Received: tokenizer={tokenizer!r}, preprocessor={preprocessor!r}."
        )
    if not isinstance(tokenizer, AlbertTokenizer):
        raise ValueError(
            "Of the tokenizers, TFLite runs SentencePiece's in its graph. Received: "
            f"tokenizer={tokenizer!r}. Pass a `preprocessor` instead."
        )
