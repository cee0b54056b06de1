"""TFLite: one file for phones and small computers, run by LiteRT."""

import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from albert_keras.checks import import_optional
from albert_keras.child_process import usable_cores
from albert_keras.compression.tensorflow_exits import exit_together
from albert_keras.export.associated_files import (
    TOKENIZER_FILE,
    append_files,
    extract_files,
    is_of_texts,
    measured,
    read_labels,
    read_text_preprocessor,
    write_associated_files,
)
from albert_keras.export.exits import EXIT_LOGITS, exit_options
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
from albert_keras.export.tflite_text import text_signatures
from albert_keras.files import atomic_path, check_replaceable_file
from albert_keras.models.copies import in_precision
from albert_keras.tokenizers import AlbertTokenizer
from albert_keras.tokenizers.packing import trim_tensors

QUANTIZATIONS = (None, "float16", "int8")
# In bytes 4 to 8 of a FlatBuffers file.
FILE_IDENTIFIER = b"TFL3"


def export_tflite(
    model,
    path,
    quantization=None,
    tokenizer=None,
    labels=None,
    sequence_length=None,
    preprocessor=None,
    exit_rule=None,
):
    """Writes a model as a TFLite file that takes ids or, with a tokenizer, text.

    The signature `serving_default` takes the model's int32 inputs by name, of any batch
    size and length (a program that calls the interpreter resizes the inputs first), and
    runs without TensorFlow. The tokenizer of a preprocessor is stored as associated
    files, for `load_tflite` and other programs.

    With `tokenizer` the signature takes the strings `text`, padded to `sequence_length`,
    and the file runs only with tensorflow-text's two custom operations. Ids equal the
    tokenizer's, except for text with a Greek final sigma, and each byte that is not UTF-8
    is an unknown character.

    Outputs have the names of `export_saved_model`; `load_tflite` adds `label` from the
    associated file `labels.txt`. Shared weights are stored once, except for the token
    table of a pretrainer in int8, which is stored for each of its two uses.

    A row leaves an `AlbertEarlyExitClassifier` as in its SavedModel, with the same
    signatures, but a batch takes as long as its last row: give rows one at a time, as
    `load_tflite` does. The signature `exit_logits` gives the logits of all depths;
    `export_calibrated_tflite` chooses the rule on them.

    Args:
        model: One of our models.
        path: str or path. The file to write.
        quantization: `None` (float32, whatever the precision of the training),
            `"float16"` (weights) or `"int8"` (weights, with activations quantized
            dynamically): 4, 2 and 1 bytes a parameter.
        tokenizer: `AlbertTokenizer` to put in the graph, or `None`.
        labels: as for `export_saved_model`.
        sequence_length: int. With `tokenizer` as for `export_saved_model`. Without, a
            fixed length of the rows of ids, which delegates for other processors may
            need; default: any length.
        preprocessor: Preprocessor to store beside a model of ids. Default: the model's
            own, if it has one. `load_tflite` uses that of a text classifier.
        exit_rule: As for `export_saved_model`.

    Returns:
        `Exported`: the `path` and `num_bytes` of the file.

    Example:

    ```python
    exported = ak.export_tflite(classifier, "sst2.tflite", "int8")
    ak.load_tflite(exported.path).predict(["a charming journey"])["label"]
    ```
    """
    _check_request(path, quantization, tokenizer, preprocessor)
    check_backend()
    labels = choose_labels(model, labels)
    model, preprocessor = in_precision(model), preprocessor or own_preprocessor(model)
    longest = choose_sequence_length(model, sequence_length, preprocessor)
    exits = exit_options(model, exit_together, exit_rule, all_depths=True)
    if tokenizer is not None:
        check_tokenizer(model, tokenizer)
        pairs = takes_pairs(preprocessor)
        signatures = text_signatures(model, tokenizer, longest, pairs, exits)
        # It is in the graph.
        preprocessor = None
    else:
        signatures = {
            name: serve_features(model, sequence_length=sequence_length, **options)
            for name, options in exits.items()
        }
    if preprocessor is not None:
        check_vocabulary(model, preprocessor.tokenizer)
    # The tokenizer's operations are custom ones; the model needs none.
    content = _convert(
        model, signatures, quantization, allow_custom_ops=tokenizer is not None
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


def load_tflite(path, signature=SERVING_SIGNATURE):
    """Loads a TFLite file with its tokenizer, as a `TextPredictor`.

    Args:
        path: str or path. A file written by `export_tflite` with a tokenizer or a
            preprocessor.
        signature: str. What it computes: `exit_logits` of a model with exits gives the
            logits of all depths.

    Raises:
        ImportError: If ai-edge-litert is absent (or tensorflow-text, for a file that
            takes text).
    """
    litert = import_optional("ai_edge_litert.interpreter", "lite")
    options = {"model_path": str(path), "num_threads": usable_cores()}
    try:
        interpreter = litert.Interpreter(**options)
    except ValueError as error:
        raise ValueError(
            f"`path` must be a TFLite file. Received: path={str(path)!r}; {error}."
        ) from error
    inputs = interpreter.get_signature_list().get(signature, {}).get("inputs")
    with tempfile.TemporaryDirectory() as folder:
        extract_files(path, folder)
        # Of what gives no classes there are no labels.
        serves = signature == SERVING_SIGNATURE
        classes = read_labels(folder) if serves else (None, False)
        if inputs and set(inputs) <= set(TEXT_INPUTS):
            registrar = import_optional("tensorflow_text", "lite").tflite_registrar
            interpreter = litert.InterpreterWithCustomOps(
                custom_op_registerers=registrar.SELECT_TFTEXT_OPS, **options
            )
            serve = _signature_runner(interpreter, signature)
            return _make_predictor(serve, classes, len(inputs) == 2)
        has_tokenizer = pathlib.Path(folder, TOKENIZER_FILE).is_file()
        if inputs and has_tokenizer and is_of_texts(folder):
            serve = _signature_runner(interpreter, signature)
            length = _row_length(serve)
            preprocess = read_text_preprocessor(folder, length)
            return _make_predictor(
                serve, classes, preprocess.takes_pairs, preprocess, trims=length is None
            )
    raise ValueError(
        "A TFLite file must hold the preprocessor of a text classifier to predict from "
        f"text. Received: path={str(path)!r} with inputs "
        f"{', '.join(inputs or ['unknown'])}. Export a classifier with `preprocessor`."
    )


def _signature_runner(interpreter, signature):
    # LiteRT requires this before a signature is used.
    interpreter.allocate_tensors()
    return interpreter.get_signature_runner(signature)


def _row_length(serve):
    """Returns the length of the rows of ids of a signature, or `None` for any."""
    length = serve.get_input_details()["token_ids"]["shape_signature"].tolist()[-1]
    return None if length == -1 else length


def _make_predictor(serve, classes, takes_pairs, preprocess=None, trims=False):
    """Returns a `TextPredictor`.

    `preprocess` makes the ids of a signature of ids, and `trims` leaves out padding.
    """
    has_exits = {"exit_depth", EXIT_LOGITS} & set(serve.get_output_details())

    def predict_together(segments):
        if preprocess is None:
            texts = (np.array(segment, dtype=object) for segment in segments)
            return serve(**dict(zip(TEXT_INPUTS, texts, strict=False)))
        features = preprocess(x=segments)
        if trims:
            features = trim_tensors(features)
        return serve(**{name: np.asarray(i, "int32") for name, i in features.items()})

    def predict_batch(*segments):
        if not has_exits:
            return predict_together(segments)
        # A row leaves alone: a batch takes as long as its last row.
        rows = [
            predict_together(tuple([text] for text in texts))
            for texts in zip(*segments, strict=True)
        ]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    return TextPredictor(predict_batch, classes, takes_pairs)


def _convert(model, signatures, quantization, allow_custom_ops):
    # From a SavedModel on disk: the other inputs of the converter lose variables.
    with tempfile.TemporaryDirectory() as folder:
        write_signatures(model, signatures, folder)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=[*signatures]
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
