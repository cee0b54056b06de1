"""Inputs and outputs of exported models, the same in all formats."""

import dataclasses
import functools
import pathlib

import keras
import tensorflow as tf
from tensorflow.core.protobuf.fingerprint_pb2 import FingerprintDef

from albert_keras.checks import check_positive_integer
from albert_keras.compression import EarlyExit
from albert_keras.compression.tensorflow_exits import exit_logits
from albert_keras.keras_internals import flatten_layers
from albert_keras.models.classes import check_labels
from albert_keras.models.copies import in_precision

SERVING_SIGNATURE = "serving_default"
PAIR_SIGNATURE = "serve_pairs"
TEXT_INPUTS = ("text", "text_pair")
# Signature of a model with exits, and its output: the logits of all depths.
EXIT_LOGITS = "exit_logits"

# Default without a preprocessor: room for most sentence pairs, and fast on a phone.
DEFAULT_SEQUENCE_LENGTH = 128

# [CLS], one token, [SEP].
SHORTEST_SEQUENCE_LENGTH = 3


def spec_to_export(model, labels=None, dtype="float32"):
    """Returns the `ExportSpec` of a model in a dtype policy, with the labels to export.

    Args:
        model: One of our models.
        labels: list of str. Default: the model's own, if it has them.
        dtype: str. Keras dtype policy.

    Raises:
        ValueError: If Keras does not use TensorFlow, or there is not one label a class.
    """
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            "Models must be exported with the TensorFlow backend. "
            f"Received: KERAS_BACKEND={keras.backend.backend()}. Save the model, and "
            "load and export it with KERAS_BACKEND=tensorflow."
        )
    spec = in_precision(model, dtype).export_spec()
    if labels is not None and not spec.num_classes:
        raise ValueError(
            "`labels` must be the names of a classifier's classes. "
            f"Received: labels={labels!r} for {type(model).__name__}."
        )
    labels = spec.labels if labels is None else labels
    if labels is None and spec.kind == "several_classes":
        # The name of the labels' file says that several classes may hold.
        labels = [*map(str, range(spec.num_classes))]
    return dataclasses.replace(spec, labels=check_labels(labels, spec.num_classes))


def serve_features(
    spec, *, sequence_length=None, batch_size=None, call=None, with_label=False
):
    """Returns a concrete function from a model's int32 inputs, by name, to its outputs.

    The outputs are float32, and have the model's names or the `output_name`. Regression
    also has `score`, the logits without their last axis. A classifier has
    `probabilities`, and no logits if its `activation` gives probabilities.

    Args:
        spec: `ExportSpec`.
        sequence_length: int. Fixed number of tokens, or `None` for any.
        batch_size: int. Fixed number of rows, or `None` for any.
        call: Function from the dict of inputs to outputs, in place of the model.
        with_label: bool. Whether there is the string output `label`, if the classes have
            labels and exclude each other.
    """
    model, features = spec.predictor(), {}
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
        outputs = call(features) if call else model(features, training=False)
        if not isinstance(outputs, dict):
            outputs = {spec.output_name: outputs}
        outputs = {
            name: value if value.dtype.is_integer else tf.cast(value, tf.float32)
            for name, value in outputs.items()
        }
        several = spec.kind == "several_classes"
        if spec.kind == "regression" and "logits" in outputs:
            outputs["score"] = outputs["logits"][:, 0]
        if spec.num_classes and "logits" in outputs:
            normalize = tf.sigmoid if several else tf.nn.softmax
            outputs["probabilities"] = normalize(outputs["logits"])
        if with_label and spec.labels and not several:
            best = tf.argmax(outputs["probabilities"], axis=-1)
            outputs["label"] = tf.gather(tf.constant(spec.labels), best)
        return outputs

    return serve.get_concrete_function(**features)


def id_signatures(spec, calls, **options):
    """Returns concrete functions of ids by name; see `serve_features`, `exit_calls`."""
    return {n: serve_features(spec, call=call, **options) for n, call in calls.items()}


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
    # Without its random UUID; its hashes identify the content.
    file = pathlib.Path(folder, "fingerprint.pb")
    fingerprint = FingerprintDef.FromString(file.read_bytes())
    fingerprint.uuid = ""
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


def exit_calls(spec, leave, rule=None, all_depths=False):
    """Returns functions to run in place of the model, for early exit, by signature.

    Args:
        spec: `ExportSpec`. Without exits there is one signature, with `None`.
        leave: Function from model, rule and features to outputs, of
            `compression.tensorflow_exits`.
        rule: `ExitRule`, or `None` for the model's own.
        all_depths: bool. Whether to add the signature `exit_logits`.

    Raises:
        ValueError: If the model has no exits but a rule is given, or the rule is invalid.
    """
    if rule is None and not spec.has_exits:
        return {SERVING_SIGNATURE: None}
    rule = EarlyExit(spec.model, rule).rule
    calls = {SERVING_SIGNATURE: functools.partial(leave, spec.model, rule)}
    if all_depths:
        calls[EXIT_LOGITS] = lambda ids: {EXIT_LOGITS: exit_logits(spec.model, ids)}
    return calls


def check_quantization(model, format, refused, remedy):
    """Checks that a model is not quantized in a mode that a format does not support."""
    modes = {layer.quantization_mode for layer in flatten_layers(model)}
    if found := modes.intersection(refused):
        raise ValueError(
            f"{format} does not support models quantized to {' or '.join(refused)}. "
            f"Received: {type(model).__name__} in {', '.join(found)}. {remedy}"
        )


def choose_sequence_length(spec, sequence_length):
    """Returns the number of tokens of packed texts: see `export_saved_model`."""
    num_positions = spec.backbone.max_sequence_length
    if sequence_length is None and spec.preprocessor is not None:
        sequence_length = spec.preprocessor.sequence_length
    if sequence_length is None:
        return min(DEFAULT_SEQUENCE_LENGTH, num_positions)
    if not SHORTEST_SEQUENCE_LENGTH <= sequence_length <= num_positions:
        raise ValueError(
            f"`sequence_length` must be from {SHORTEST_SEQUENCE_LENGTH} to the model's "
            f"{num_positions} positions. Received: sequence_length={sequence_length}."
        )
    return sequence_length


def sizes_of_ids(spec, sequence_length, batch_size):
    """Returns checked arguments for `serve_features`, `None` for any size."""
    if sequence_length is not None:
        choose_sequence_length(spec, sequence_length)
    if batch_size is not None:
        check_positive_integer("batch_size", batch_size)
    return {"sequence_length": sequence_length, "batch_size": batch_size}
