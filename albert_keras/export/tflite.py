"""TFLite, for LiteRT on phones and small computers."""

import functools
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from albert_keras.checks import check_choice, import_optional
from albert_keras.compression import calibrate
from albert_keras.compression.exit_inference import check_has_exits
from albert_keras.compression.tensorflow_exits import exit_together
from albert_keras.export import associated_files, signatures
from albert_keras.export.exported_model import in_parts, load_beside
from albert_keras.export.text.graph import text_signatures
from albert_keras.export.text.kinds import task_to_export
from albert_keras.system.files import atomic_path, check_replaceable_file
from albert_keras.system.processor import usable_cores
from albert_keras.tokenizers import AlbertTokenizer
from albert_keras.tokenizers.loading import check_vocabulary_size
from albert_keras.tokenizers.sentence_piece_model import peculiarities

QUANTIZATIONS = (None, "float16", "int8")
QUANTIZE_HERE = 'Export the float model, with `quantization="int8"`.'
# Bytes 4 to 8 of the file.
FILE_IDENTIFIER = b"TFL3"


def export_tflite(
    model,
    path,
    quantization=None,
    tokenizer=None,
    labels=None,
    sequence_length=None,
    exit_rule=None,
    task=None,
    batch_size=None,
):
    """Writes a model as a TFLite file that takes token ids or, with a tokenizer, text.

    The signature `serving_default` takes the model's int32 inputs by name (for a joint
    question answerer the inputs of its `beam_model`), of any batch size and length. A
    program that calls the interpreter resizes the inputs first. The file runs without
    TensorFlow. The tokenizer of the preprocessor or task, and the task of another head
    than a classifier's, are stored as associated files, for `load_exported` and other
    programs.

    With `tokenizer` the signature takes the strings `text`, padded to the longest row of
    the batch, and the file needs the two custom operations of tensorflow-text. Token ids
    are the tokenizer's, with two exceptions: text with a Greek final sigma, and bytes
    that are not UTF-8, each of which is an unknown character. A model with segments also
    has the signature `serve_pairs`, of `text` and `text_pair`. Models of masked words,
    multiple choice, tagging and questions take ids only.

    Outputs have the names of `export_saved_model`. `load_exported` adds `label` from the
    associated file `labels.txt`. Shared weights are stored once, except for the token
    table of a pretrainer in int8, which is stored for each of its two uses.

    An `AlbertEarlyExitClassifier` has the signatures of its SavedModel, but a batch takes
    as long as its last row: pass single rows, as `load_exported` does. The signature
    `exit_logits` returns the logits of all depths; `export_calibrated_tflite` chooses the
    rule by them.

    Args:
        model: One of our models.
        path: str or path. The file to write.
        quantization: `None` (float32, whatever the precision of the training),
            `"float16"` (weights) or `"int8"` (weights, with activations quantized
            dynamically): 4, 2 and 1 bytes a parameter.
        tokenizer: `AlbertTokenizer` to put in the graph of a classifier, a regression
            or a backbone, or `None`.
        labels: As for `export_saved_model`.
        sequence_length: int. With `tokenizer` as for `export_saved_model`. Without, a
            fixed length of the rows of ids, which delegates for other processors may
            need; default: any length.
        exit_rule: As for `export_saved_model`.
        task: As for `export_saved_model`, for any head.
        batch_size: int. A fixed number of rows of ids, which LiteRT.js, LiteRT's
            `CompiledModel` and delegates for other processors need. The length is then
            fixed too, by default as for `export_saved_model`. Default: any number.

    Returns:
        `Exported`: the `path` and `num_bytes` of the file.

    Example:

    ```python
    exported = ak.export_tflite(classifier, "sst2.tflite", "int8")
    ak.load_exported(exported.path).predict(["a charming journey"])["label"]
    ```
    """
    check_replaceable_file(path)
    check_choice("quantization", quantization, QUANTIZATIONS)
    takes_text = tokenizer is not None
    if takes_text and batch_size is not None:
        raise ValueError(
            "The number of rows can only be fixed for ids, not for text. Received: "
            f"batch_size={batch_size}, tokenizer={tokenizer!r}. Leave one of them out."
        )
    encode = _lite_tokenizer(tokenizer) if takes_text else None
    signatures.check_quantization(model, "TFLite", ("int8", "float8"), QUANTIZE_HERE)
    spec = signatures.spec_to_export(model, labels)
    calls = signatures.exit_calls(spec, exit_together, exit_rule, all_depths=True)
    if takes_text:
        check_vocabulary_size(tokenizer, spec.backbone.vocabulary_size)
        functions = text_signatures(spec, tokenizer, encode, sequence_length, calls)
        task = None
    else:
        if batch_size is not None:
            sequence_length = signatures.choose_sequence_length(spec, sequence_length)
        sizes = signatures.sizes_of_ids(spec, sequence_length, batch_size)
        functions = signatures.id_signatures(spec, calls, **sizes)
        task = task_to_export(spec, task)
    # The tokenizer's operations are custom ones; the model needs none.
    content = _convert(spec.model, functions, quantization, allow_custom_ops=takes_text)
    with tempfile.TemporaryDirectory() as folder, atomic_path(path) as temporary:
        associated_files.write_beside(folder, spec, task, takes_text=takes_text)
        temporary.write_bytes(content)
        associated_files.append_files(temporary, folder)
    return associated_files.measured(path)


def _lite_tokenizer(tokenizer):
    """Returns an `AlbertTokenizer` as a function from strings to ids, for TFLite."""
    unknown = ["no SentencePiece model"]
    if isinstance(tokenizer, AlbertTokenizer):
        unknown = peculiarities(tokenizer.encoder.proto)
    if unknown:
        raise ValueError(
            "In its graph, TFLite runs the tokenizers of plain SentencePiece unigram "
            f"models. Received: tokenizer={tokenizer!r}, with {', '.join(unknown)}. "
            "Leave it out, or pass `--inputs ids`."
        )
    tf_text = import_optional("tensorflow_text", "lite")
    fused = tokenizer.encoder.fused_proto()
    return tf_text.FastSentencepieceTokenizer(fused).tokenize


def export_calibrated_tflite(
    model, path, texts, *, max_changed=0.01, confidence=0.95, **options
):
    """Writes a TFLite file whose exit rule is calibrated on the file's own answers.

    Quantized weights give other logits than the model, so that the model's rule may
    change more answers than it was calibrated for. This function writes the file,
    computes its logits at all depths, lets `calibrate` choose the rule on them, and
    writes the file again with that rule.

    Args:
        model: `AlbertEarlyExitClassifier` with a preprocessor.
        path: str or path. The file to write.
        texts: List of str, or of tuples of two for a model of pairs, without labels. The
            model must not have been trained on them.
        max_changed, confidence: As for `compression.calibrate`.
        **options: Arguments of `export_tflite`, without `exit_rule`.

    Returns:
        Tuple of `Exported` and `compression.Calibration`.

    Raises:
        ValueError: If the model has no exits, or there are too few texts.

    Example:

    ```python
    classifier = ak.AlbertEarlyExitClassifier.from_preset("runs/exits")
    exported, calibration = ak.export.export_calibrated_tflite(
        classifier, "sst2.tflite", held_out_texts, quantization="int8"
    )
    calibration.chosen.rule, calibration.chosen.mean_depth
    ```
    """
    check_has_exits(model)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "model.tflite")
        export_tflite(model, file, **options)
        outputs = load_tflite(file, signature=signatures.EXIT_LOGITS).predict(texts)
    logits = outputs[signatures.EXIT_LOGITS]
    found = calibrate(logits, max_changed=max_changed, confidence=confidence)
    return export_tflite(model, path, exit_rule=found.chosen.rule, **options), found


def is_tflite(path):
    """Returns whether `path` is a TFLite file, by its first bytes."""
    path = pathlib.Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(8)[4:] == FILE_IDENTIFIER


def load_tflite(path, signature=signatures.SERVING_SIGNATURE):
    """Returns the `ExportedModel` of a signature of a TFLite file: see `load_exported`.

    The signature `exit_logits` of a model with exits returns the logits of all depths.
    """
    litert = import_optional("ai_edge_litert.interpreter", "lite")
    options = {"model_path": str(path), "num_threads": usable_cores()}
    try:
        interpreter = litert.Interpreter(**options)
    except ValueError as error:
        raise ValueError(
            f"`path` must be a TFLite file. Received: path={str(path)!r}; {error}."
        ) from error
    listed = interpreter.get_signature_list()
    inputs = dict.fromkeys(listed.get(signature, {}).get("inputs", ()), ())
    takes_text = inputs and {*inputs} <= {*signatures.TEXT_INPUTS}
    if takes_text:
        registrar = import_optional("tensorflow_text", "lite").tflite_registrar
        interpreter = litert.InterpreterWithCustomOps(
            custom_op_registerers=registrar.SELECT_TFTEXT_OPS, **options
        )
    if takes_text or "token_ids" in inputs:
        # LiteRT requires this before a signature is used.
        interpreter.allocate_tensors()
    runner = functools.cache(interpreter.get_signature_runner)
    if "token_ids" in inputs:
        details = runner(signature).get_input_details()["token_ids"]
        inputs["token_ids"] = details["shape_signature"].tolist()

    def run(features, name=signature):
        arrays = {
            name: np.array(values, dtype=object) if isinstance(values, list) else values
            for name, values in features.items()
        }
        return _in_parts(runner(name))(arrays)

    # Pairs have the outputs of `SERVING_SIGNATURE`.
    of_pairs = {signatures.PAIR_SIGNATURE}.intersection(listed)
    others = of_pairs if signature == signatures.SERVING_SIGNATURE else ()
    with tempfile.TemporaryDirectory() as folder:
        associated_files.extract_files(path, folder)
        return load_beside(path, folder, run, inputs, others)


def _in_parts(serve):
    """Returns a function from a dict of arrays to a dict of arrays, for a signature.

    It passes the rows of a model with exits one by one, since a batch takes as long as
    its last row.
    """

    def run(inputs):
        return serve(**inputs)

    has_exits = {"exit_depth", signatures.EXIT_LOGITS} & set(serve.get_output_details())
    first = next(iter(serve.get_input_details().values()))
    is_free = first["shape_signature"][0] == -1
    return in_parts(run, 1) if has_exits and is_free else run


def _convert(model, functions, quantization, allow_custom_ops):
    # The converter loses variables unless it reads a SavedModel.
    with tempfile.TemporaryDirectory() as folder:
        signatures.write_signatures(model, functions, folder)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=[*functions]
        )
        converter.allow_custom_ops = allow_custom_ops
        if quantization is not None:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantization == "float16":
            converter.target_spec.supported_types = [tf.float16]
        return converter.convert()
