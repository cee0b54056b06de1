"""Arguments that choose a shape: a preset, and what to change of it."""

from albert_keras.config import PRESETS, SHARING, AlbertConfig

OVERRIDES = {
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


def add_model_arguments(parser):
    """Adds `--preset` and an option for each hyperparameter that may differ from it."""
    group = parser.add_argument_group("model")
    group.add_argument("--preset", default="albert_base_v2", choices=list(PRESETS))
    for name, kind in OVERRIDES.items():
        group.add_argument(f"--{name.replace('_', '-')}", type=kind)
    group.add_argument("--sharing", choices=SHARING)
    group.add_argument("--rematerialization", action="store_true", default=None)


def model_config(arguments, **fixed):
    """Returns the preset's `AlbertConfig` with the arguments' overrides and `fixed`.

    Width follows where only `--hidden-dim` is given: the feed-forward is four times it,
    and a head has 64 columns, as in the paper.
    """
    names = (*OVERRIDES, "sharing", "rematerialization")
    given = {name: getattr(arguments, name) for name in names}
    overrides = {name: value for name, value in given.items() if value is not None}
    if "hidden_dim" in overrides:
        overrides.setdefault("intermediate_dim", 4 * overrides["hidden_dim"])
        overrides.setdefault("num_heads", max(1, overrides["hidden_dim"] // 64))
    return AlbertConfig.from_preset(arguments.preset, **overrides, **fixed)
