"""keras-hub's own ALBERT: presets on disk, and models in memory.

Its models have Google's gelu, the epsilon 1e-12, one dropout rate for everything, and no
sentence-pair head. The norm in its masked-word head has the epsilon 1e-5, where the
original and we have 1e-12: with the same weights its logits differ a little, and its
classes leave no choice.
"""

import math
import pathlib
import re
import warnings

import keras
import keras_hub

from albert_keras.checks import check_rate
from albert_keras.config import AlbertConfig
from albert_keras.converters.hdf5_file import read_hdf5
from albert_keras.converters.name_table import (
    ATTENTION,
    FEED_FORWARD,
    Row,
    collect_tensors,
    dense_rows,
    expand_rows,
    foreign_config,
    norm_rows,
    translate_config,
    with_identity_projection,
    without_identity_projection,
)
from albert_keras.converters.stored_tensors import StoredTensors, merged_tensors
from albert_keras.files import read_json
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
INITIALIZER_RANGE = 0.02

_LAYER = "group_{group}_inner_layer_{inner}"


def _table(name):
    return (Row(f"{name}/embeddings", f"embedding/{name}/embeddings"),)


_ATTENTION = f"{_LAYER}/self_attention_layer"
_FFN = f"{_LAYER}/feedforward"
BACKBONE_ROWS = (
    *_table("token_embedding"),
    *_table("segment_embedding"),
    *_table("position_embedding"),
    *norm_rows("embeddings_layer_norm", "embedding/layer_norm"),
    *dense_rows("embedding_projection", "embedding/projection"),
    *dense_rows(f"{_ATTENTION}/query", f"{ATTENTION}/query"),
    *dense_rows(f"{_ATTENTION}/key", f"{ATTENTION}/key"),
    *dense_rows(f"{_ATTENTION}/value", f"{ATTENTION}/value"),
    *dense_rows(f"{_ATTENTION}/attention_output", f"{ATTENTION}/projection"),
    *norm_rows(f"{_LAYER}/self_attention_layer_norm", f"{ATTENTION}/layer_norm"),
    *dense_rows(f"{_FFN}_intermediate_dense", f"{FEED_FORWARD}/intermediate"),
    *dense_rows(f"{_FFN}_output_dense", f"{FEED_FORWARD}/projection"),
    *norm_rows(f"{_FFN}_layer_norm", f"{FEED_FORWARD}/layer_norm"),
    *dense_rows("pooled_dense", "pooler"),
)
HEAD_ROWS = {
    "pretraining": (
        *dense_rows("mlm_head/intermediate_dense", "mlm/transform"),
        *norm_rows("mlm_head/intermediate_layer_norm", "mlm/layer_norm"),
        Row("mlm_head/output_bias", "mlm/output_bias"),
    ),
    "sequence_classification": dense_rows("logits", "logits"),
}
PROJECTION_NAMES = ("embedding_projection/kernel", "embedding_projection/bias")

MODELS = {
    None: keras_hub.models.AlbertBackbone,
    "pretraining": keras_hub.models.AlbertMaskedLM,
    "sequence_classification": keras_hub.models.AlbertTextClassifier,
}
_REGISTERED_NAMES = {
    head: keras.saving.get_registered_name(model_class)
    for head, model_class in MODELS.items()
}
# By file of a preset: Keras' names of layers, by class and number, and keras-hub's own.
_FILES = {
    "model.weights.h5": {
        "reversible_embedding": "token_embedding",
        "embedding": "segment_embedding",
        "layer_normalization": "embeddings_layer_norm",
        "dense": "embedding_projection",
        "dense_1": "pooled_dense",
    },
    "task.weights.h5": {"dense": "logits", "masked_lm_head": "mlm_head"},
}
_NEEDED_FILES = ("model.weights.h5",)
_ATTENTION_NAMES = {
    "query_dense": "query",
    "key_dense": "key",
    "value_dense": "value",
    "output_dense": "attention_output",
}


def find_checkpoint(path):
    """Returns a model of keras-hub, or the folder of a preset of it, or `None`.

    Raises:
        ValueError: If it is a model, or a preset, that is not read.
    """
    if isinstance(path, keras.Model):
        if not isinstance(path, tuple(MODELS.values())):
            raise ValueError(
                "A model to convert must be keras-hub's AlbertBackbone, AlbertMaskedLM "
                f"or AlbertTextClassifier. Received: {type(path).__name__}."
            )
        return path
    file = pathlib.Path(path, "config.json")
    stated = _registered_name(file) if file.is_file() else ""
    if not stated.startswith("keras_hub>"):
        return None
    if stated != _REGISTERED_NAMES[None]:
        raise ValueError(
            f"A preset of keras-hub must be of {_REGISTERED_NAMES[None]}. "
            f"Received: '{file}' of {stated}."
        )
    return file.parent


def _registered_name(file):
    # Presets from when keras-hub was called keras-nlp keep that name.
    name = str(read_json(file).get("registered_name"))
    return name.replace("keras_nlp>", "keras_hub>")


def read_config(checkpoint):
    """Returns the `AlbertConfig` of a model or a preset of keras-hub.

    Raises:
        ValueError: If it holds a key that is not understood.
    """
    if isinstance(checkpoint, keras.Model):
        config = getattr(checkpoint, "backbone", checkpoint).get_config()
    else:
        config = _read_stated(checkpoint / "config.json")
    values = translate_config(
        config, CONFIG_NAMES, IGNORED_CONFIG_NAMES, source="keras-hub"
    )
    # One rate is that of attention scores too.
    return AlbertConfig.from_dict({**values, "attention_dropout": values["dropout"]})


def read_head(checkpoint):
    """Returns the head of a model or a preset of keras-hub, or `None`."""
    if isinstance(checkpoint, keras.Model):
        name = keras.saving.get_registered_name(type(checkpoint))
    else:
        file = checkpoint / "task.json"
        name = _registered_name(file) if file.is_file() else None
    heads = {registered: head for head, registered in _REGISTERED_NAMES.items()}
    return heads.get(name)


def read_head_options(checkpoint, head):
    """Returns the dropout of a classifier; no activation may stand behind its logits.

    Raises:
        ValueError: If the classifier's output is not logits.
    """
    if head == "pretraining":
        _warn_of_masked_words(left_out=[])
    if head != "sequence_classification":
        return {}
    if isinstance(checkpoint, keras.Model):
        stated = checkpoint.get_config()
    else:
        stated = _read_stated(checkpoint / "task.json")
    if stated.get("activation") not in (None, "linear"):
        raise ValueError(
            "A classifier must give logits: make it with activation=None. "
            f"Received: activation={stated['activation']}."
        )
    check_rate("dropout", stated.get("dropout"))
    return {"dropout": stated["dropout"]}


def _read_stated(file):
    config = read_json(file).get("config")
    if not isinstance(config, dict):
        raise ValueError(
            f"A preset must state a config. Received: '{file}' without one."
        )
    return config


def read_tensors(checkpoint):
    """Returns the variables, `StoredTensors`, with heads side by side in one axis."""
    if isinstance(checkpoint, keras.Model):
        values = {variable.path: variable for variable in checkpoint.weights}
        shapes = {path: tuple(variable.shape) for path, variable in values.items()}
        tensors = StoredTensors(
            shapes, lambda path: keras.ops.convert_to_numpy(values[path])
        )
    else:
        tensors = _read_files(checkpoint)
    shapes = {path: _flat_shape(path, shape) for path, shape in tensors.shapes.items()}
    tensors = StoredTensors(
        shapes, lambda path, read=tensors.read: read(path).reshape(shapes[path])
    )
    return without_identity_projection(tensors, *PROJECTION_NAMES)


def _flat_shape(path, shape):
    # Queries, keys and values are (..., heads, size), what reads them (heads, size, ...).
    _, is_attention, layer = path.partition("/self_attention_layer/")
    # What has other axes stays, and is reported as mis-shaped.
    if not is_attention or len(shape) != (3 if layer.endswith("kernel") else 2):
        return shape
    if layer == "attention_output/kernel":
        return (math.prod(shape[:-1]), shape[-1])
    return (*shape[:-2], math.prod(shape[-2:]))


def is_known_extra(name):
    """Tells whether a variable is the optimizer's, which is kept with the head."""
    return name.startswith("optimizer/")


def _read_files(folder):
    """Reads a preset's weights under the paths that its model's variables would have."""
    num_inner = read_config(folder).num_inner_repetitions
    parts = []
    for file_name, layer_names in _FILES.items():
        if (folder / file_name).is_file() or file_name in _NEEDED_FILES:
            stored = read_hdf5(folder / file_name)
            names = {
                path: _variable_path(path, layer_names, num_inner)
                for path in stored.shapes
            }
            parts.append(stored.renamed(names))
    return merged_tensors(parts)


def _variable_path(path, layer_names, num_inner_repetitions):
    """Translates a path in Keras' file; one of another form stays, to be reported."""
    found = re.fullmatch(r"[^/]+/([^/]+)(/.+)?/vars/(\d)", path)
    if not found or is_known_extra(path):
        return path
    layer, inner_path, index = found.groups()
    place = re.fullmatch(r"transformer_encoder(?:_(\d+))?", layer)
    if place:
        group, inner = divmod(int(place[1] or 0), num_inner_repetitions)
        layer = _LAYER.format(group=group, inner=inner)
    else:
        layer = layer_names.get(layer, layer)
    names = [name.removeprefix("_") for name in (inner_path or "").split("/") if name]
    names = [layer, *(_ATTENTION_NAMES.get(name, name) for name in names)]
    return "/".join([*names, _leaf(names[-1], int(index))])


def _leaf(layer, index):
    if layer == "mlm_head":
        return "output_bias"
    if layer.endswith("embedding"):
        return "embeddings"
    names = ("gamma", "beta") if layer.endswith("norm") else ("kernel", "bias")
    return names[index] if index < 2 else str(index)


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
    if config.initializer_range != INITIALIZER_RANGE:
        warnings.warn(
            "keras-hub's ALBERT has no place for the range of initial weights, which is "
            f"{INITIALIZER_RANGE}; left out: {config.initializer_range}.",
            stacklevel=3,
        )
    rows = expand_rows(BACKBONE_ROWS + HEAD_ROWS.get(head, ()), config)
    if head == "pretraining":
        pair_head = model.pair_head
        _warn_of_masked_words(left_out=pair_head.weights if pair_head else [])
    without_pair_head = [v for v in model.weights if not v.path.startswith("sop/")]
    tensors = collect_tensors(without_pair_head, rows)
    tensors = with_identity_projection(tensors, config, *PROJECTION_NAMES)
    theirs = _make_theirs(model, head, MODELS[None](**values), tokenizer)
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
