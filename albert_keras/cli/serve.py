r"""Serve an exported model on this machine, for development.

It answers the REST paths of TensorFlow Serving, on strings as on ids, and has a page to
try the model. Stop it by Ctrl-C. For production use TensorFlow Serving itself.

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
    fields = serving.ServerOptions.__dataclass_fields__
    add_options(parser, serving.ServerOptions, fields, {})


def run(arguments):
    options = config_from(arguments, serving.ServerOptions)
    serving.serve(
        arguments.model,
        options,
        on_start=lambda address: note(f"serving {address}, Ctrl-C stops"),
    )
