"""Options that choose a shape: the hyperparameters that differ from a preset's."""

from albert_keras.cli.options import flag_of
from albert_keras.config import SHARING

_NUMBERS = {
    "num_layers": int,
    "num_heads": int,
    "embedding_dim": int,
    "hidden_dim": int,
    "intermediate_dim": int,
    "num_groups": int,
    "num_inner_repetitions": int,
    "dropout": float,
    "attention_dropout": float,
    "max_sequence_length": int,
    "initializer_range": float,
}

MODEL_OPTIONS = (*_NUMBERS, "sharing", "rematerialization")


def add_model_options(parser):
    """Adds a flag for each hyperparameter that may differ from the preset's."""
    group = parser.add_argument_group("hyperparameters (default: those of the preset)")
    for name, kind in _NUMBERS.items():
        group.add_argument(flag_of(name), type=kind)
    group.add_argument("--sharing", choices=SHARING, help="what all layers share")
    group.add_argument(
        "--rematerialization",
        action="store_true",
        default=None,
        help="compute layers again in the backward pass, to save memory",
    )
