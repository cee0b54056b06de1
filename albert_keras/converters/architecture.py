"""Changes of a model's sharing, depth, positions, attention and vocabulary."""

import dataclasses

import keras
import numpy as np

from albert_keras.checks import check_positive_integer
from albert_keras.config import ATTENTION_FIELDS
from albert_keras.models.copies import on_backbone

# Fields of the config that can change while the weights are kept.
ARCHITECTURE_CHANGES = (
    *("sharing", "num_groups", "num_layers", "max_sequence_length"),
    *("dropout", "attention_dropout", "rematerialization", *ATTENTION_FIELDS),
)

_POSITIONS = "embedding/position_embedding/embeddings"


def change_architecture(model, **changes):
    """Returns a model with other sharing, groups, depth or positions, and its weights.

    Less sharing or more groups copy the shared layers, and outputs stay the same. More
    sharing is allowed only if the layers that will share weights are equal. A model of
    another depth has other outputs, and must be trained. Layer i of a deeper model is the
    old layer `i * old_layers // new_layers`, as in the paper. A shallower model has old
    layers at even distances from the first to the last, as DistilBERT: 0, 2, 4, 7, 9 and
    11 of 12. More positions repeat the old ones, so that training on longer rows starts
    with knowledge of a token's neighbours; fewer positions are the first ones.

    Args:
        model: Model of this package. It is not changed.
        **changes: New values of the fields `ARCHITECTURE_CHANGES` of `AlbertConfig`.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> bert = change_architecture(backbone, sharing="none")
    >>> bert.count_params() > backbone.count_params()
    True

    Reference: Lan et al. 2020, section 3.1 (sharing) and appendix A.1 (depth); Sanh et
    al. 2019, DistilBERT (fewer layers); Beltagy et al. 2020, Longformer, section 5
    (positions).
    """
    others = sorted(set(changes) - set(ARCHITECTURE_CHANGES))
    if others:
        raise ValueError(
            f"An architecture can be changed in {', '.join(ARCHITECTURE_CHANGES)}. "
            f"Received: {', '.join(others)}."
        )
    old_backbone = getattr(model, "backbone", model)
    config = dataclasses.replace(old_backbone.albert_config, **changes)
    if hasattr(model, "exit_heads") and config.num_layers != old_backbone.num_layers:
        raise ValueError(
            "The depth of a model with exits cannot change. Received: "
            f"num_layers={config.num_layers}. Change its `backbone`, and train new exits."
        )
    backbone = _backbone_of(old_backbone, config)
    positions = old_backbone.embedding.position_embedding.get_weights()[0]
    table_shape = (config.max_sequence_length, config.embedding_dim)
    # `resize` repeats the rows, or cuts the last ones.
    fills = {_POSITIONS: np.resize(positions, table_shape)}
    new_model = _with_weights_of(model, on_backbone(model, backbone), fills)
    for new, old in _matching_sub_layers(backbone, old_backbone):
        new.set_weights(old.get_weights())
    return new_model


def resize_vocabulary(model, vocabulary_size, seed=0):
    """Returns a model whose token table has more or fewer rows, without its preprocessor.

    Tokens keep their ids and vectors. New tokens have initial random vectors, by `seed`
    (int), and a bias of zero in the masked-word head.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> resize_vocabulary(backbone, 67).vocabulary_size
    67
    """
    check_positive_integer("vocabulary_size", vocabulary_size)
    old_backbone = getattr(model, "backbone", model)
    config = old_backbone.albert_config
    config = dataclasses.replace(config, vocabulary_size=vocabulary_size)
    backbone = _backbone_of(old_backbone, config)
    # The same on any backend.
    table_shape = (vocabulary_size, config.embedding_dim)
    new_rows = np.random.default_rng(seed).standard_normal(table_shape).clip(-2, 2)
    fills = {
        "embedding/token_embedding/embeddings": new_rows * config.initializer_range,
        "mlm/output_bias": np.zeros(vocabulary_size),
    }
    new_model = on_backbone(model, backbone, preprocessor=None)
    return _with_weights_of(model, new_model, fills)


def with_new_weights(model):
    """Returns a model of the same architecture, with its preprocessor and random weights.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> with_new_weights(backbone).count_params() == backbone.count_params()
    True
    """
    old_backbone = getattr(model, "backbone", model)
    backbone = _backbone_of(old_backbone, old_backbone.albert_config)
    return on_backbone(model, backbone)


def _backbone_of(old_backbone, config):
    """Returns a new backbone of the same class with another config."""
    new_config = {**old_backbone.get_config(), **config.to_dict()}
    return type(old_backbone).from_config(new_config)


def _matching_sub_layers(backbone, old_backbone):
    """Yields each sub-layer of the new backbone once, with its old counterpart."""
    inner = backbone.num_inner_repetitions
    # By identity, since shared sub-layers have several places.
    old_of = {}
    for place, encoder in enumerate(backbone.encoders):
        layer, repetition = divmod(place, inner)
        old_layer = old_layer_of(layer, backbone.num_layers, old_backbone.num_layers)
        old_encoder = old_backbone.encoders[old_layer * inner + repetition]
        for name in ("attention", "feed_forward"):
            new, old = getattr(encoder, name), getattr(old_encoder, name)
            if id(new) not in old_of:
                old_of[id(new)] = old
                yield new, old
            else:
                _check_equal(old_of[id(new)], old, layer)


def old_layer_of(layer, num_layers, num_old):
    """Returns the old layer from which a layer of a model of another depth starts.

    Example:

    >>> [old_layer_of(layer, 6, 12) for layer in range(6)]
    [0, 2, 4, 7, 9, 11]
    """
    if num_layers >= num_old:
        return layer * num_old // num_layers
    return round(layer * (num_old - 1) / max(1, num_layers - 1))


def _check_equal(first, second, layer):
    pairs = zip(first.get_weights(), second.get_weights(), strict=True)
    if first is not second and not all(np.array_equal(a, b) for a, b in pairs):
        raise ValueError(
            "Layers that will share weights must be equal. Received: different "
            f"{first.name} and {second.name} for layer {layer}. Use less sharing."
        )


def _with_weights_of(model, new_model, fills):
    """Copies the variables that both models have by path, and returns the new model.

    Arrays in `fills`, by path, have a new size; their first rows become the old ones.
    """
    values = {variable.path: variable for variable in model.weights}
    for variable in new_model.weights:
        if variable.path not in values:
            continue
        value = keras.ops.convert_to_numpy(values[variable.path])
        if variable.path in fills:
            filled = fills[variable.path].astype(value.dtype)
            num_rows = min(len(filled), len(value))
            filled[:num_rows] = value[:num_rows]
            value = filled
        variable.assign(value)
    return new_model
