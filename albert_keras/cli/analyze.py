"""Count the parameters of a shape, part by part.

example:
  albert-keras analyze parameters --preset albert_xxlarge_v2 --sharing none
"""

from albert_keras.analysis import count_parameters, parameter_table
from albert_keras.cli.options import MODEL_GROUP, add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.runs.shapes import ShapeOptions

USAGE = "parameters [options]"


def add_arguments(parser):
    parser.add_argument(
        "subject", choices=["parameters"], help="what to count: parameters"
    )
    add_options(parser, ShapeOptions, ("preset",), MODEL_GROUP)


def run(arguments):
    options = config_from(arguments, ShapeOptions)
    shape = options.shape()
    results = {**parameter_table(shape), "backbone": count_parameters(shape)}
    print_results(options.preset, results, arguments.json)
