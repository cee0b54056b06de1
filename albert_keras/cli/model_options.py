"""Options that choose a shape: the hyperparameters that differ from a preset's."""

from albert_keras.cli.options import flag_of
from albert_keras.config import SHARING, AlbertConfig
from albert_keras.options import kind_of

_NUMBERS = (
    *("num_layers", "num_heads", "embedding_dim", "hidden_dim", "intermediate_dim"),
    *("num_groups", "num_inner_repetitions", "dropout", "attention_dropout"),
    *("max_sequence_length", "initializer_range"),
)

MODEL_OPTIONS = (*_NUMBERS, "sharing", "rematerialization")


def add_model_options(parser):
    """Adds a flag for each hyperparameter that may differ from the preset's."""
    group = parser.add_argument_group("hyperparameters (default: those of the preset)")
    for name in _NUMBERS:
        kind = kind_of(AlbertConfig.__dataclass_fields__[name])
        group.add_argument(flag_of(name), type=kind)
    group.add_argument("--sharing", choices=SHARING, help="what all layers share")
    group.add_argument(
        "--rematerialization",
        action="store_true",
        default=None,
        help="compute layers again in the backward pass, to save memory",
    )
