"""Inputs and outputs of exported models, the same in all formats."""

import functools
import pathlib
import uuid

import keras
import keras_hub
import tensorflow as tf
from tensorflow.core.protobuf.fingerprint_pb2 import FingerprintDef

from albert_keras.checks import check_positive_integer
from albert_keras.compression import EarlyExit
from albert_keras.compression.tensorflow_exits import exit_logits
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
# Preprocessors that make all inputs of a model from texts.
TEXT_PREPROCESSORS = (
    keras_hub.models.TextClassifierPreprocessor,
    keras_hub.models.TextEmbedderPreprocessor,
)
# Signature of a model with exits, and its output: the logits of all depths.
EXIT_LOGITS = "exit_logits"

# Default without a preprocessor: room for most sentence pairs, and fast on a phone.
DEFAULT_SEQUENCE_LENGTH = 128

# [CLS], one token, [SEP].
SHORTEST_SEQUENCE_LENGTH = 3


def serve_features(model, labels=None, sequence_length=None, batch_size=None, run=None):
    """Returns a concrete function from a model's int32 inputs, by name, to its outputs.

    The outputs are float32, and have the model's names, its `output_name`, or `logits`.
    Regression also has `score`, the logits without their last axis. A classifier has
    `probabilities`, and no logits if its `activation` gives probabilities.

    Args:
        model: One of our models.
        labels: list of str. If given, and classes exclude each other, there is the string
            output `label`.
        sequence_length: int. Fixed number of tokens, or `None` for any.
        batch_size: int. Fixed number of rows, or `None` for any.
        run: Function from the dict of inputs to outputs, in place of the model.
    """
    features = {}
    for name, placeholder in model.input.items():
        shape = (batch_size, *placeholder.shape[1:])
        # Inputs of positions have another axis.
        if sequence_length is not None and not name.endswith("_positions"):
            shape = (*shape[:-1], sequence_length)
        features[name] = tf.TensorSpec(shape, tf.int32, name)

    @tf.function(autograph=False)
    def serve(**features):
        for name in ("token_ids", "segment_ids"):
            # Keras would count negative ids from the end. Too large ids are errors.
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


def id_signatures(model, exits, labels=None, **sizes):
    """Returns concrete functions of ids by name.

    Args:
        model: One of our models.
        exits: What `exit_options` returns.
        labels, **sizes: Arguments of `serve_features`.
    """
    model = predicting_model(model)
    return {
        name: serve_features(model, labels, **sizes, **options)
        for name, options in exits.items()
    }


def write_signatures(model, signatures, folder, endpoints=None):
    """Writes a SavedModel of concrete functions, by name, that call a model.

    It stores each weight once; Keras' `model.export` (3.15) stores it twice. The same
    model gives the same bytes, since the random states of dropout are left out.

    Args:
        model: One of our models.
        signatures: Dict of concrete functions.
        folder: str or path.
        endpoints: Dict of further functions. TFLite's converter loses the signatures of
            a SavedModel that has some.
    """
    module = tf.Module()
    module.model_variables = [variable.value for variable in model.weights]
    for name, function in (endpoints or {}).items():
        setattr(module, name, function)
    tf.saved_model.save(module, str(folder), signatures=signatures)
    # The fingerprint has a random UUID; one of its hashes takes the place.
    file = pathlib.Path(folder, "fingerprint.pb")
    fingerprint = FingerprintDef.FromString(file.read_bytes())
    fingerprint.uuid = ""
    hashes = fingerprint.SerializeToString(deterministic=True).hex()
    fingerprint.uuid = str(uuid.uuid5(uuid.NAMESPACE_OID, hashes))
    file.write_bytes(fingerprint.SerializeToString(deterministic=True))


def keras_endpoints(signatures):
    """Returns functions for Keras' `TFSMLayer`, by the names of signatures and `serve`.

    Each takes one argument: the only input of the signature, or a dict of inputs.
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


def exit_options(model, leave, rule=None, all_depths=False):
    """Returns the arguments of `serve_features` for early exit, by signature.

    Args:
        model: One of our models. Without exits there is one signature.
        leave: Function from model, rule and features to outputs, of
            `compression.tensorflow_exits`.
        rule: `ExitRule`, or `None` for the model's own.
        all_depths: bool. Whether to add the signature `exit_logits`.

    Raises:
        ValueError: If the model has no exits but a rule is given, or the rule is invalid.
    """
    if rule is None and not hasattr(model, "exit_logits"):
        return {SERVING_SIGNATURE: {}}
    rule = EarlyExit(model, rule).rule
    options = {SERVING_SIGNATURE: {"run": functools.partial(leave, model, rule)}}
    if all_depths:
        options[EXIT_LOGITS] = {
            "run": lambda inputs: {EXIT_LOGITS: exit_logits(model, inputs)}
        }
    return options


def check_backend():
    """Checks that Keras uses the TensorFlow backend."""
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            "Models must be exported with the TensorFlow backend. "
            f"Received: KERAS_BACKEND={keras.backend.backend()}. Save the model, and "
            "load and export it with KERAS_BACKEND=tensorflow."
        )


def check_quantization(model, format, refused, remedy):
    """Checks that a model is not quantized in a mode that a format does not support."""
    modes = {layer.quantization_mode for layer in flatten_layers(model)}
    if found := modes.intersection(refused):
        raise ValueError(
            f"{format} does not support models quantized to {' or '.join(refused)}. "
            f"Received: {type(model).__name__} in {', '.join(found)}. {remedy}"
        )


def choose_labels(model, labels):
    """Returns the labels to export: those given, or the model's, or `None`."""
    if has_classes(model):
        labels = getattr(model, "labels", None) if labels is None else labels
        if labels is None and is_multi_label(model):
            # The name of the labels' file says that several classes may hold.
            labels = [*map(str, range(model.num_classes))]
        return check_labels(labels, model.num_classes)
    if labels is not None:
        raise ValueError(
            "`labels` must be the names of a classifier's classes. "
            f"Received: labels={labels!r} for {type(model).__name__}."
        )
    return None


def check_tokenizer(model, tokenizer):
    """Checks that a model needs only the token ids of one text a row."""
    features = getattr(model, "backbone", model).input
    takes_rows = all(len(feature.shape) == 2 for feature in model.input.values())
    if model.input.keys() != features.keys() or not takes_rows:
        raise ValueError(
            "A model that takes text must need no other input, and one row a text. "
            f"Received: {type(model).__name__} with inputs {', '.join(model.input)}. "
            "Export it without tokenizer, or export its `backbone`."
        )
    check_vocabulary(model, tokenizer)


def check_vocabulary(model, tokenizer):
    """Checks that a model has an embedding for each token of a tokenizer."""
    check_vocabulary_size(tokenizer, backbone_config(model).vocabulary_size)


def choose_sequence_length(model, sequence_length, preprocessor=None):
    """Returns the number of tokens of packed texts: see `export_saved_model`."""
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
    """Returns checked arguments for `serve_features`, `None` for any size."""
    if sequence_length is not None:
        choose_sequence_length(model, sequence_length)
    if batch_size is not None:
        check_positive_integer("batch_size", batch_size)
    return {"sequence_length": sequence_length, "batch_size": batch_size}


def predicting_model(model):
    """Returns the model to export: for a joint question answerer its beam search.

    The answerer itself needs the true start of the answer as an input.
    """
    return model.beam_model() if hasattr(model, "beam_model") else model


def own_preprocessor(model):
    """Returns a model's preprocessor if a preset can store it, else `None`."""
    preprocessor = getattr(model, "preprocessor", None)
    can_be_saved = isinstance(preprocessor, keras_hub.models.Preprocessor)
    return preprocessor if can_be_saved else None


def text_preprocessor(model):
    """Returns a model's preprocessor if it makes all inputs from text, else `None`."""
    preprocessor = own_preprocessor(model)
    return preprocessor if isinstance(preprocessor, TEXT_PREPROCESSORS) else None


def backbone_config(model):
    """Returns the `AlbertConfig` of a backbone or of a model's backbone."""
    return getattr(model, "backbone", model).albert_config
