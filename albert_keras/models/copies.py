"""Copies of a model on another backbone or in another dtype."""

import keras

from albert_keras.models.backbone import AlbertBackbone


def on_backbone(model, backbone, **replaced):
    """Returns a backbone with a new head like a model's, or alone if that has no head.

    The head has random weights. `replaced` are arguments of the model's class.
    """
    if isinstance(model, AlbertBackbone):
        return backbone
    config = {**model.get_config(), "preprocessor": model.preprocessor, **replaced}
    config.pop("backbone")
    return type(model)(backbone, **config)


def in_precision(model, dtype="float32"):
    """Returns a model with the same weights and loss that computes in a dtype policy.

    It is the model itself if its dtype is already the right one.

    Args:
        model: One of our models.
        dtype: str. Keras dtype policy, such as `"float32"` or `"mixed_bfloat16"`.

    Example:

    >>> backbone = AlbertBackbone.from_config_preset("albert_test", dtype="mixed_float16")
    >>> in_precision(backbone).compute_dtype
    'float32'
    """
    old_backbone = getattr(model, "backbone", model)
    if old_backbone.compute_dtype == keras.DTypePolicy(dtype).compute_dtype:
        return model
    config = {**old_backbone.get_config(), "dtype": dtype}
    copy = on_backbone(model, type(old_backbone).from_config(config))
    copy.set_weights(model.get_weights())
    loss = getattr(model, "loss", None)
    if loss is not None:
        copy.compile(loss=loss, metrics=None)
    return copy
