r"""Serve an exported model on this machine, for development.

It has the REST paths of TensorFlow Serving, for strings and for ids, and a page to try
the model. Ctrl-C stops it. In production use TensorFlow Serving.

examples:
  albert-keras serve models/reviews --port 8501
  curl -d '{"instances": ["a charming journey"]}' \
      http://127.0.0.1:8501/v1/models/reviews:predict
"""

from albert_keras import serving
from albert_keras.cli.options import add_options, config_from
from albert_keras.runs.reporting import note

USAGE = "MODEL [options]"


def add_arguments(parser):
    parser.add_argument("model", help="SavedModel, or a folder of its versions")
    add_options(parser, serving.ServerOptions)


def run(arguments):
    options = config_from(arguments, serving.ServerOptions)
    serving.serve(
        arguments.model,
        options,
        on_start=lambda address: note(f"serving {address}, Ctrl-C stops"),
    )
