"""Count the parameters of a shape, part by part.

example:
  albert-keras analyze parameters --preset albert_xxlarge_v2 --sharing none
"""

from albert_keras.analysis import count_parameters, parameter_table
from albert_keras.cli.model_arguments import add_model_arguments, model_config
from albert_keras.cli.results import print_results


def add_arguments(parser):
    parser.add_argument("subject", choices=["parameters"])
    add_model_arguments(parser)


def run(arguments):
    config = model_config(arguments)
    results = {**parameter_table(config), "backbone": count_parameters(config)}
    print_results(arguments.preset, results, arguments.json)
