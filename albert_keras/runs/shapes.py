"""Shapes of models: a preset with some hyperparameters changed."""

import dataclasses
from collections.abc import Mapping

from albert_keras.config import PRESETS, SHARING, AlbertConfig
from albert_keras.options import Options, members_of, option

_MODEL_OPTIONS = {
    "num_layers": "number of times that a layer is applied",
    "num_heads": "attention heads (default: one for each 64 of --hidden-dim)",
    "embedding_dim": "width of the embedding tables",
    "hidden_dim": "width of the encoder",
    "intermediate_dim": "width of the feed-forward network (default: 4 * hidden)",
    "num_groups": "groups of layers that share parameters",
    "num_inner_repetitions": "different layers inside each layer",
    "dropout": "dropout of embeddings and of the outputs of sub-layers",
    "attention_dropout": "dropout of attention probabilities (default: --dropout)",
    "max_sequence_length": "number of position embeddings",
    "initializer_range": "standard deviation of the initial weights",
    "sharing": "sub-layers that are shared by all layers",
    "rematerialization": "compute layers again in the backward pass, to save memory",
}
_MODEL_OPTIONS = {
    name: about if "(default" in about else f"{about} (default: of the preset)"
    for name, about in _MODEL_OPTIONS.items()
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShapeOptions(Options):
    """The shape of a model.

    Example:

    >>> ShapeOptions(model_options={"hidden_dim": 256}).shape().num_heads
    4
    """

    preset: str | None = option(
        "shape to start from", "albert_base_v2", choices=PRESETS
    )
    model_options: Mapping = option(
        "fields of `AlbertConfig` that differ from the preset's",
        members=members_of(AlbertConfig, _MODEL_OPTIONS, {"sharing": SHARING}),
    )

    def shape(self, **fixed):
        """Returns the `AlbertConfig`, with further fields `fixed`.

        The width follows where only `hidden_dim` is given: the feed-forward network is
        four times as wide, and a head has 64 columns, as in the paper.
        """
        options = dict(self.model_options)
        if "hidden_dim" in options:
            options.setdefault("intermediate_dim", 4 * options["hidden_dim"])
            options.setdefault("num_heads", max(1, options["hidden_dim"] // 64))
        return AlbertConfig.from_preset(self.preset, **options, **fixed)
