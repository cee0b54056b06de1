"""Count the parameters of a shape, part by part.

example:
  albert-keras analyze parameters --preset albert_xxlarge_v2 --sharing none
"""

from albert_keras.analysis import count_parameters, parameter_table
from albert_keras.cli.model_options import MODEL_OPTIONS, add_model_options
from albert_keras.cli.results import print_results
from albert_keras.config import PRESETS
from albert_keras.runs.shapes import shape_of


def add_arguments(parser):
    parser.add_argument("subject", choices=["parameters"])
    parser.add_argument(
        "--preset",
        default="albert_base_v2",
        choices=list(PRESETS),
        help="shape to start from (default: albert_base_v2)",
    )
    add_model_options(parser)


def run(arguments):
    given = {name: getattr(arguments, name) for name in MODEL_OPTIONS}
    shape = shape_of(
        arguments.preset, {k: v for k, v in given.items() if v is not None}
    )
    results = {**parameter_table(shape), "backbone": count_parameters(shape)}
    print_results(arguments.preset, results, arguments.json)
