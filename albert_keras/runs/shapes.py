"""Shapes of models: a preset with some hyperparameters changed."""

from albert_keras.config import AlbertConfig


def shape_of(preset, model_options, **fixed):
    """Returns a preset's `AlbertConfig` with some fields changed.

    The width follows where only `hidden_dim` is given: the feed-forward network is four
    times as wide, and a head has 64 columns, as in the paper.

    Args:
        preset: str, of `PRESETS`.
        model_options: Dict of fields of `AlbertConfig`.
        **fixed: Further fields.

    Example:

    >>> shape_of("albert_base_v2", {"hidden_dim": 256}).num_heads
    4
    """
    options = dict(model_options)
    if "hidden_dim" in options:
        options.setdefault("intermediate_dim", 4 * options["hidden_dim"])
        options.setdefault("num_heads", max(1, options["hidden_dim"] // 64))
    return AlbertConfig.from_preset(preset, **options, **fixed)
