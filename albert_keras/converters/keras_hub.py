"""keras-hub's own ALBERT: presets on disk, and models in memory.

Its models have Google's gelu, the epsilon 1e-12, one dropout rate for everything, and no
sentence-pair head. The norm in its masked-word head has the epsilon 1e-5, where the
original and we have 1e-12: with the same weights its logits differ a little, and its
classes leave no choice.
"""

import pathlib
import warnings

import keras
import keras_hub

from albert_keras.config import AlbertConfig
from albert_keras.converters.hdf5_file import read_hdf5
from albert_keras.converters.name_table import (
    ATTENTION,
    FEED_FORWARD,
    Row,
    collect_tensors,
    expand_rows,
    foreign_config,
    read_json,
    translate_config,
    with_identity_projection,
    without_identity_projection,
)
from albert_keras.converters.stored_tensors import StoredTensors, readable
from albert_keras.tokenizers import AlbertTokenizer

_SAME_NAMES = (
    "vocabulary_size",
    "num_layers",
    "num_heads",
    "embedding_dim",
    "hidden_dim",
    "intermediate_dim",
    "num_groups",
    "num_inner_repetitions",
    "dropout",
    "max_sequence_length",
    "num_segments",
)
CONFIG_NAMES = {name: name for name in _SAME_NAMES}
# What Keras keeps of any model.
IGNORED_CONFIG_NAMES = ("name", "trainable", "dtype")
ACTIVATIONS = {"gelu_tanh": "gelu_tanh"}

_LAYER = "group_{group}_inner_layer_{inner}"


def _dense(source, target):
    return (
        Row(f"{source}/kernel", f"{target}/kernel"),
        Row(f"{source}/bias", f"{target}/bias"),
    )


def _norm(source, target):
    return (
        Row(f"{source}/gamma", f"{target}/gamma"),
        Row(f"{source}/beta", f"{target}/beta"),
    )


def _table(name):
    return (Row(f"{name}/embeddings", f"embedding/{name}/embeddings"),)


_ATTENTION = f"{_LAYER}/self_attention_layer"
BACKBONE_ROWS = (
    *_table("token_embedding"),
    *_table("segment_embedding"),
    *_table("position_embedding"),
    *_norm("embeddings_layer_norm", "embedding/layer_norm"),
    *_dense("embedding_projection", "embedding/projection"),
    *_dense(f"{_ATTENTION}/query", f"{ATTENTION}/query"),
    *_dense(f"{_ATTENTION}/key", f"{ATTENTION}/key"),
    *_dense(f"{_ATTENTION}/value", f"{ATTENTION}/value"),
    *_dense(f"{_ATTENTION}/attention_output", f"{ATTENTION}/projection"),
    *_norm(f"{_LAYER}/self_attention_layer_norm", f"{ATTENTION}/layer_norm"),
    *_dense(f"{_LAYER}/feedforward_intermediate_dense", f"{FEED_FORWARD}/intermediate"),
    *_dense(f"{_LAYER}/feedforward_output_dense", f"{FEED_FORWARD}/projection"),
    *_norm(f"{_LAYER}/feedforward_layer_norm", f"{FEED_FORWARD}/layer_norm"),
    *_dense("pooled_dense", "pooler"),
)
HEAD_ROWS = {
    "pretraining": (
        *_dense("mlm_head/intermediate_dense", "mlm/transform"),
        *_norm("mlm_head/intermediate_layer_norm", "mlm/layer_norm"),
        Row("mlm_head/output_bias", "mlm/output_bias"),
    ),
    "sequence_classification": _dense("logits", "logits"),
}
PROJECTION_NAMES = ("embedding_projection/kernel", "embedding_projection/bias")

MODELS = {
    None: keras_hub.models.AlbertBackbone,
    "pretraining": keras_hub.models.AlbertMaskedLM,
    "sequence_classification": keras_hub.models.AlbertTextClassifier,
}
_HEADS = {
    keras.saving.get_registered_name(model_class): head
    for head, model_class in MODELS.items()
}


def find_checkpoint(path):
    """Returns a model of keras-hub, which `path` is or is the preset folder of, or `None`.

    Raises:
        ValueError: If it is a preset that is damaged, or of a model that is not read.
    """
    if isinstance(path, tuple(MODELS.values())):
        return path
    if isinstance(path, keras.Model):
        raise ValueError(
            "A model to convert must be keras-hub's AlbertBackbone, AlbertMaskedLM or "
            f"AlbertTextClassifier. Received: {type(path).__name__}."
        )
    file = pathlib.Path(path, "config.json")
    stated = read_json(file).get("registered_name") if file.is_file() else None
    if not str(stated).startswith("keras_hub>"):
        return None
    return _load_preset(file.parent)


def _load_preset(folder):
    """Builds the model that a preset describes, from what its files state as data."""
    backbone_file = folder / "config.json"
    task_file = folder / "task.json"
    backbone = _build(None, backbone_file, _read_config(backbone_file))
    _load_weights(backbone.load_weights, folder / "model.weights.h5")
    if not task_file.is_file():
        return backbone
    head = _HEADS.get(read_json(task_file).get("registered_name"))
    if head is None:
        return backbone
    stated = _read_config(task_file)
    options = {
        key: stated[key]
        for key in ("num_classes", "dropout", "activation")
        if key in stated
    }
    task = _build(head, task_file, {"backbone": backbone, **options})
    _load_weights(task.load_task_weights, folder / "task.weights.h5")
    return task


def _read_config(file):
    config = read_json(file).get("config")
    if not isinstance(config, dict):
        raise ValueError(f"A preset must state a config. Received: '{file}' without one.")
    return {k: v for k, v in config.items() if k not in IGNORED_CONFIG_NAMES}


def _build(head, file, arguments):
    try:
        return MODELS[head](**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"A preset must state a model of keras-hub. Received: '{file}': {error}"
        ) from error


def _load_weights(load, file):
    read_hdf5(file)
    with readable(file, OSError, ValueError, KeyError, RuntimeError):
        load(str(file))


def read_config(checkpoint):
    """Returns the `AlbertConfig` of a model of keras-hub.

    Raises:
        ValueError: If it holds a key that is not understood.
    """
    config = _backbone_of(checkpoint).get_config()
    values = translate_config(
        config, CONFIG_NAMES, IGNORED_CONFIG_NAMES, source="keras-hub"
    )
    # One rate is that of attention scores too.
    return AlbertConfig.from_dict({**values, "attention_dropout": values["dropout"]})


def read_head(checkpoint):
    """Returns the head of a model of keras-hub, or `None`."""
    return _HEADS[keras.saving.get_registered_name(type(checkpoint))]


def read_head_options(checkpoint, head):
    """Returns the dropout of a classifier; no activation may stand behind its logits.

    Raises:
        ValueError: If the classifier's output is not logits.
    """
    if head == "pretraining":
        _warn_of_masked_words(left_out=[])
    if head != "sequence_classification":
        return {}
    if checkpoint.activation is not keras.activations.linear:
        raise ValueError(
            "A classifier must give logits: make it with activation=None. "
            f"Received: activation={keras.activations.serialize(checkpoint.activation)}."
        )
    return {"dropout": checkpoint.dropout}


def read_tensors(checkpoint):
    """Returns the variables, `StoredTensors`, with heads side by side in one axis."""
    variables = {variable.path: variable for variable in checkpoint.weights}
    hidden_dim = _backbone_of(checkpoint).hidden_dim
    shapes = {
        path: _flat_shape(path, variable.shape, hidden_dim)
        for path, variable in variables.items()
    }

    def read(path):
        value = keras.ops.convert_to_numpy(variables[path])
        return value.reshape(shapes[path])

    tensors = StoredTensors(shapes, read)
    return without_identity_projection(tensors, *PROJECTION_NAMES)


def _flat_shape(path, shape, hidden_dim):
    # Queries, keys and values are (..., heads, size), what reads them (heads, size, ...).
    if "/self_attention_layer/" not in path:
        return tuple(shape)
    return (hidden_dim, hidden_dim) if path.endswith("kernel") else (hidden_dim,)


def _backbone_of(model):
    return getattr(model, "backbone", model)


def write_checkpoint(model, head, folder, tokenizer=None):
    """Writes a preset that keras-hub's own classes load.

    Args:
        model: `AlbertBackbone`, `AlbertTextClassifier` or `AlbertPretrainer`, whose
            sentence-pair head is left out, with a warning.
        head: str or `None`. Its head.
        folder: path of an empty folder.
        tokenizer: `AlbertTokenizer`, of which only the vocabulary is kept: keras-hub's
            neither lower-cases nor strips accents. Or `None`.

    Raises:
        ValueError: If keras-hub has no such model, or no such tokenizer.
    """
    backbone = model if head is None else model.backbone
    config = backbone.albert_config
    values = foreign_config(config, CONFIG_NAMES, ACTIVATIONS, source="keras-hub")
    if config.attention_dropout_rate != config.dropout:
        raise ValueError(
            "keras-hub's models must have one rate of dropout. Received: "
            f"dropout={config.dropout}, attention_dropout="
            f"{config.attention_dropout}. `change_architecture` gives others."
        )
    rows = expand_rows(BACKBONE_ROWS + HEAD_ROWS.get(head, ()), config)
    if head == "pretraining":
        pair_head = model.pair_head
        _warn_of_masked_words(left_out=pair_head.weights if pair_head else [])
    without_pair_head = [v for v in model.weights if not v.path.startswith("sop/")]
    tensors = collect_tensors(without_pair_head, rows)
    tensors = with_identity_projection(tensors, config, *PROJECTION_NAMES)
    theirs = _make_theirs(model, head, _build(None, folder, values), tokenizer)
    for variable in theirs.weights:
        variable.assign(tensors[variable.path].reshape(variable.shape))
    theirs.save_to_preset(str(folder))
    if head is None and tokenizer is not None:
        _own_tokenizer(tokenizer).save_to_preset(str(folder))


def _make_theirs(model, head, backbone, tokenizer):
    """Returns keras-hub's model on its backbone, with a preprocessor of the tokenizer."""
    if head is None:
        return backbone
    options = {}
    if head == "sequence_classification":
        options = {"num_classes": model.num_classes, "dropout": model.dropout}
    if tokenizer is not None:
        options["preprocessor"] = MODELS[head].preprocessor_cls(
            _own_tokenizer(tokenizer), sequence_length=backbone.max_sequence_length
        )
    return MODELS[head](backbone, **options)


def _warn_of_masked_words(left_out):
    names = ", ".join(variable.path for variable in left_out)
    warnings.warn(
        "keras-hub's masked-word head normalizes with an epsilon of 1e-5, where ALBERT's "
        "is 1e-12: with the same weights its logits differ a little."
        + (f" It has no sentence-pair head; left out: {names}." if names else ""),
        stacklevel=4,
    )


def _own_tokenizer(tokenizer):
    if not isinstance(tokenizer, AlbertTokenizer):
        raise ValueError(
            "keras-hub's ALBERT must have a SentencePiece tokenizer. "
            f"Received: {type(tokenizer).__name__}. Save the model without it."
        )
    return keras_hub.models.AlbertTokenizer(proto=tokenizer.encoder.proto)
