"""Shapes of models: a preset with some hyperparameters changed."""

import dataclasses
from collections.abc import Mapping

from albert_keras.config import ATTENTION_FIELDS, PRESETS, AlbertConfig
from albert_keras.options import Options, members_of, option

# Fields that change a preset, and what the help says of their defaults.
_CHANGES = {
    "num_layers": "of the preset",
    "num_heads": "one for each 64 of --hidden-dim",
    "embedding_dim": "of the preset",
    "hidden_dim": "of the preset",
    "intermediate_dim": "4 * hidden",
    "num_groups": "of the preset",
    "num_inner_repetitions": "of the preset",
    "dropout": "of the preset",
    "attention_dropout": "--dropout",
    "max_sequence_length": "of the preset",
    "initializer_range": "of the preset",
    "sharing": "of the preset",
    "rematerialization": "of the preset",
    **dict.fromkeys(ATTENTION_FIELDS, "of the preset"),
}


def changed_fields(defaults):
    """Returns the `members` of an option that changes fields of `AlbertConfig`.

    `defaults` maps the names of the fields to what the help says of their defaults.
    """
    helps = {
        name: f"{AlbertConfig.__dataclass_fields__[name].metadata['help']} "
        f"(default: {said})"
        for name, said in defaults.items()
    }
    return members_of(AlbertConfig, helps)


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
        members=changed_fields(_CHANGES),
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
