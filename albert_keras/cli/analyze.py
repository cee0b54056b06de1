"""Count the parameters of a published size, part by part.

example:
  albert-keras analyze parameters --preset albert_xxlarge_v2 --sharing none
"""

from albert_keras.analysis import count_parameters, parameter_table
from albert_keras.cli.results import print_results
from albert_keras.config import PRESETS, SHARING, AlbertConfig


def add_arguments(parser):
    parser.add_argument("subject", choices=["parameters"])
    parser.add_argument("--preset", default="albert_base_v2", choices=list(PRESETS))
    parser.add_argument("--sharing", choices=SHARING)
    for name in ("num_layers", "hidden_dim", "embedding_dim", "num_groups"):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)


def run(arguments):
    names = ("sharing", "num_layers", "hidden_dim", "embedding_dim", "num_groups")
    given = {name: getattr(arguments, name) for name in names}
    overrides = {name: value for name, value in given.items() if value is not None}
    if "hidden_dim" in overrides:
        overrides["intermediate_dim"] = 4 * overrides["hidden_dim"]
    config = AlbertConfig.from_preset(arguments.preset, **overrides)
    results = {**parameter_table(config), "backbone": count_parameters(config)}
    print_results(arguments.preset, results, arguments.json)
