"""Inputs and outputs of an exported model, the same in every format."""

import pathlib
import uuid

import keras
import keras_hub
import tensorflow as tf
from tensorflow.core.protobuf.fingerprint_pb2 import FingerprintDef

from albert_keras.checks import check_positive_integer
from albert_keras.export.associated_files import TEXT_PREPROCESSORS
from albert_keras.keras_internals import flatten_layers
from albert_keras.models.classes import (
    activation_of,
    check_labels,
    has_classes,
    is_multi_label,
    is_regression,
)
from albert_keras.tokenizers.loading import check_vocabulary_size

SERVING_SIGNATURE = "serving_default"
PAIR_SIGNATURE = "serve_pairs"
TEXT_INPUTS = ("text", "text_pair")
FINGERPRINT_FILE = "fingerprint.pb"

# Default without a preprocessor: room for most sentence pairs, and fast on a phone.
DEFAULT_SEQUENCE_LENGTH = 128

# [CLS], one piece, [SEP].
SHORTEST_SEQUENCE_LENGTH = 3


def serve_features(model, labels=None, sequence_length=None, batch_size=None, run=None):
    """Returns a concrete function from the model's int32 inputs, by name, to its outputs.

    These are float32: the model's own, its `output_name`, or `logits`; for regression
    also `score`, the logits without their last axis; for a classifier `probabilities`
    and, given the labels of classes of which one holds, the string tensor `label`. A
    classifier whose `activation` gives probabilities has no logits.
    `sequence_length` is the number of tokens, `batch_size` that of rows, or `None` for
    any. `run` is a function from the dict of inputs to outputs, in place of the model.
    """
    features = {}
    for name, placeholder in model.input.items():
        shape = (batch_size, *placeholder.shape[1:])
        # Other inputs hold places in the sequence.
        if sequence_length is not None and not name.endswith("_positions"):
            shape = (*shape[:-1], sequence_length)
        features[name] = tf.TensorSpec(shape, tf.int32, name)

    @tf.function(autograph=False)
    def serve(**features):
        for name in ("token_ids", "segment_ids"):
            # Keras counts negative ids from the end; too large ones are refused.
            ids = features[name]
            features[name] = tf.where(ids < 0, tf.int32.max, ids)
        outputs = run(features) if run else model(features, training=False)
        if not isinstance(outputs, dict):
            gives_logits = activation_of(model) is keras.activations.linear
            name = "logits" if gives_logits else "probabilities"
            outputs = {getattr(model, "output_name", None) or name: outputs}
        outputs = {
            name: value if value.dtype.is_integer else tf.cast(value, tf.float32)
            for name, value in outputs.items()
        }
        if is_regression(model) and "logits" in outputs:
            outputs["score"] = outputs["logits"][:, 0]
        if has_classes(model) and "logits" in outputs:
            normalize = tf.sigmoid if is_multi_label(model) else tf.nn.softmax
            outputs["probabilities"] = normalize(outputs["logits"])
        if labels is not None and not is_multi_label(model):
            best = tf.argmax(outputs["probabilities"], axis=-1)
            outputs["label"] = tf.gather(tf.constant(labels), best)
        return outputs

    return serve.get_concrete_function(**features)


def write_signatures(model, signatures, folder, endpoints=None):
    """Writes a SavedModel of concrete functions by name that call a model.

    It holds each weight once; Keras' own `model.export` (3.15) stores them twice. The
    same model gives the same bytes: states of dropout seeds, which are random and which
    no signature reads, are left out. `endpoints` are further functions by name; TFLite's
    converter loses signatures where there are some.
    """
    module = tf.Module()
    module.model_variables = [variable.value for variable in model.weights]
    for name, function in (endpoints or {}).items():
        setattr(module, name, function)
    tf.saved_model.save(module, str(folder), signatures=signatures)
    _name_by_content(pathlib.Path(folder, FINGERPRINT_FILE))


def keras_endpoints(signatures):
    """Returns functions for Keras' `TFSMLayer`, by the names of signatures and `serve`.

    Each takes one argument: the only input of the signature, or a dict of several.
    """
    endpoints = {name: _of_one_argument(value) for name, value in signatures.items()}
    return {**endpoints, "serve": endpoints[SERVING_SIGNATURE]}


def _of_one_argument(function):
    arguments = tf.nest.flatten(function.structured_input_signature)
    specs = {spec.name: spec for spec in arguments if isinstance(spec, tf.TensorSpec)}
    takes_dict = len(specs) > 1

    def call(inputs):
        return function(**(inputs if takes_dict else dict.fromkeys(specs, inputs)))

    signature = [specs] if takes_dict else [*specs.values()]
    return tf.function(call, signature, autograph=False)


def _name_by_content(file):
    """Replaces the random UUID in a SavedModel's fingerprint by one of its hashes."""
    fingerprint = FingerprintDef.FromString(file.read_bytes())
    fingerprint.uuid = ""
    hashes = fingerprint.SerializeToString(deterministic=True).hex()
    fingerprint.uuid = str(uuid.uuid5(uuid.NAMESPACE_OID, hashes))
    file.write_bytes(fingerprint.SerializeToString(deterministic=True))


def check_backend():
    """Checks that Keras uses the TensorFlow backend."""
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            "Models are exported under the TensorFlow backend. "
            f"Received: KERAS_BACKEND={keras.backend.backend()}. Save the model, and "
            "load and export it with KERAS_BACKEND=tensorflow."
        )


def check_quantization(model, format, refused, remedy):
    """Checks that Keras did not quantize a model in a mode that a format cannot hold."""
    modes = {layer.quantization_mode for layer in flatten_layers(model)}
    if found := modes.intersection(refused):
        raise ValueError(
            f"{format} holds no model that Keras quantized to {' or '.join(refused)}. "
            f"Received: {type(model).__name__} in {', '.join(found)}. {remedy}"
        )


def choose_labels(model, labels):
    """Returns the labels to export, those given or the model's, or `None`."""
    if labels is None:
        labels = getattr(model, "labels", None) if has_classes(model) else None
        if labels is None and has_classes(model) and is_multi_label(model):
            # The name of their file tells that several may hold.
            labels = [str(number) for number in range(model.num_classes)]
        return labels
    if not has_classes(model):
        raise ValueError(
            "`labels` name the classes of a classifier with at least 2. "
            f"Received: labels={labels!r} for {type(model).__name__}."
        )
    return check_labels(labels, model.num_classes)


def check_tokenizer(model, tokenizer):
    """Checks that a model takes rows of the ids of a tokenizer, and nothing else."""
    features = getattr(model, "backbone", model).input
    takes_rows = all(len(feature.shape) == 2 for feature in model.input.values())
    if model.input.keys() != features.keys() or not takes_rows:
        raise ValueError(
            "A model that takes text must need nothing else, one row a text. Received: "
            f"{type(model).__name__} with inputs {', '.join(model.input)}. Export "
            "it without tokenizer, or export its `backbone`."
        )
    check_vocabulary(model, tokenizer)


def check_vocabulary(model, tokenizer):
    """Checks that a model has an embedding for each piece of a tokenizer."""
    check_vocabulary_size(tokenizer, backbone_config(model).vocabulary_size)


def choose_sequence_length(model, sequence_length, preprocessor=None):
    """Returns the length in tokens of packed texts: see `export_saved_model`."""
    num_positions = backbone_config(model).max_sequence_length
    if sequence_length is None and preprocessor is not None:
        sequence_length = preprocessor.sequence_length
    if sequence_length is None:
        return min(DEFAULT_SEQUENCE_LENGTH, num_positions)
    if not SHORTEST_SEQUENCE_LENGTH <= sequence_length <= num_positions:
        raise ValueError(
            f"`sequence_length` must be from {SHORTEST_SEQUENCE_LENGTH} to the model's "
            f"{num_positions} positions. Received: sequence_length={sequence_length}."
        )
    return sequence_length


def sizes_of_ids(model, sequence_length, batch_size):
    """Returns checked arguments of `serve_features`, `None` for any size."""
    if sequence_length is not None:
        choose_sequence_length(model, sequence_length)
    if batch_size is not None:
        check_positive_integer("batch_size", batch_size)
    return {"sequence_length": sequence_length, "batch_size": batch_size}


def predicting_model(model):
    """Returns the model to export: of a joint question answerer its beam search.

    Its own inputs have the start of the answer, which only training knows.
    """
    return model.beam_model() if hasattr(model, "beam_model") else model


def own_preprocessor(model):
    """Returns a model's preprocessor that a preset can hold, else `None`."""
    preprocessor = getattr(model, "preprocessor", None)
    can_be_saved = isinstance(preprocessor, keras_hub.models.Preprocessor)
    return preprocessor if can_be_saved else None


def text_preprocessor(model):
    """Returns a model's preprocessor if it makes all inputs from text, else `None`."""
    preprocessor = own_preprocessor(model)
    return preprocessor if isinstance(preprocessor, TEXT_PREPROCESSORS) else None


def takes_pairs(preprocessor):
    """Returns whether a preprocessor, or `None`, is of a model of pairs of texts."""
    return getattr(preprocessor, "takes_pairs", False)


def backbone_config(model):
    """Returns the `AlbertConfig` of a backbone or of a model's backbone."""
    return getattr(model, "backbone", model).albert_config
