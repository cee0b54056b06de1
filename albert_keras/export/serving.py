"""Files for TensorFlow Serving: a version of a model, and a server's configuration."""

import importlib.resources
import json
import pathlib
import re

import numpy as np
import tensorflow as tf

from albert_keras import sample
from albert_keras.checks import import_optional, shown
from albert_keras.export.associated_files import measured
from albert_keras.export.saved_model import GRAPH_FILE, assets_of, export_saved_model
from albert_keras.export.signatures import SERVING_SIGNATURE
from albert_keras.system import files

WARM_UP_FILE = "tf_serving_warmup_requests"
# Rows of the warm-up requests, for each signature.
WARM_UP_ROWS = (1, 8, 32)
# Choices of a question in warm-up requests, as in RACE.
NUM_CHOICES = 4


def export_serving(model, path, **options):
    """Writes a version of a model for TensorFlow Serving, with a server's configuration.

    The last part of `path`, such as `models/reviews/1`, is the version, and the part
    before it the name of the model. The version's folder is a SavedModel with warm-up
    requests, which the server runs at its start. The folder of all models, `models`, gets
    these files:

    - `models.config`, which lists all models there, and `batching.config`;
    - `docker-compose.yml`: `docker compose up` in that folder starts a server;
    - `NAME.request.json`, a REST request: `curl -d @NAME.request.json
      localhost:8501/v1/models/NAME:predict`;
    - `request_grpc.py`, which sends it by gRPC: `python request_grpc.py NAME
      NAME.request.json`.

    Existing files are kept, except `models.config` and `NAME.request.json`.

    Args:
        model: One of our models.
        path: str or path. The version's folder; a SavedModel in it is replaced.
        **options: Arguments of `export_saved_model`.

    Returns:
        `Exported`: the `path`, and `num_bytes` of the version.

    Raises:
        ValueError: If the path does not end with a name and a version.
        ImportError: If tensorflow-serving-api is absent.
    """
    path = pathlib.Path(path).resolve()
    name, models = path.parent.name, path.parent.parent
    is_name = re.fullmatch(r"[A-Za-z0-9][\w.-]*", name, re.ASCII)
    if not (is_name and path.name.isdecimal() and int(path.name)):
        raise ValueError(
            "The path must end with a name and a version, a positive number, such as "
            f"models/reviews/1. Received: path={shown(str(path))}."
        )
    files.check_replaceable_folder(path, GRAPH_FILE)
    import_optional("tensorflow_serving.apis", "serving")
    with files.atomic_folder(path) as folder:
        export_saved_model(model, folder, **options)
        longest = options.get("sequence_length")
        longest = longest or model.export_spec().backbone.max_sequence_length
        inputs = _write_warm_up(folder, name, longest)
    _write_server_files(models, name, inputs)
    return measured(path)


def _write_warm_up(folder, name, longest):
    """Runs warm-up requests of all signatures and writes them.

    TensorFlow Serving does not load a model if a warm-up request fails. Returns the
    inputs of a request of one row for the first signature.
    """
    log = import_optional("tensorflow_serving.apis.prediction_log_pb2", "serving")
    # Registers the tokenizer's operations.
    import_optional("tensorflow_text", "lite")
    file = assets_of(folder) / WARM_UP_FILE
    file.parent.mkdir(exist_ok=True)
    functions = tf.saved_model.load(str(folder)).signatures
    with tf.io.TFRecordWriter(str(file)) as writer:
        for signature in sorted(functions, key=lambda name: name != SERVING_SIGNATURE):
            for rows in WARM_UP_ROWS:
                inputs = _example_inputs(functions[signature], rows, longest)
                functions[signature](**{k: tf.constant(v) for k, v in inputs.items()})
                request = {
                    "model_spec": {"name": name, "signature_name": signature},
                    "inputs": {k: tf.make_tensor_proto(v) for k, v in inputs.items()},
                }
                record = log.PredictionLog(predict_log={"request": request})
                writer.write(record.SerializeToString(deterministic=True))
    return _example_inputs(functions[SERVING_SIGNATURE], 1, longest)


def _example_inputs(function, rows, longest):
    """Returns inputs of a number of rows by name; rows of ids have the full length."""
    _, specs = function.structured_input_signature
    return {n: _example(spec, rows, longest) for n, spec in sorted(specs.items())}


def _example(spec, rows, longest):
    if spec.dtype != tf.string:
        shape = [size or longest for size in spec.shape]
        return np.ones([rows, *shape[1:]], spec.dtype.as_numpy_dtype)
    lines = sample.CORPUS.read_text("utf-8").split("\n")
    texts = [line for line in lines if line][: max(WARM_UP_ROWS)]
    # Rows of multiple choice have several texts.
    shape = [rows] + [NUM_CHOICES] * (spec.shape.rank - 1)
    return np.resize(np.array(texts, object), shape)


def _write_server_files(models, name, inputs):
    """Writes the configuration of a server of all models in a folder, and a request."""
    known = {path.parent.parent.name for path in models.glob(f"*/*/{GRAPH_FILE}")}
    # docker-compose.yml mounts the folder of all models as /models.
    configs = [
        f'  config {{ name: "{name}" base_path: "/models/{name}" '
        'model_platform: "tensorflow" }\n'
        for name in sorted(known)
    ]
    config = f"model_config_list {{\n{''.join(configs)}}}\n"
    _write_text(models / "models.config", config)
    values = {key: value.tolist() for key, value in inputs.items()}
    request = json.dumps({"inputs": values}, ensure_ascii=False, indent=1)
    _write_text(models / f"{name}.request.json", request + "\n")
    for file in importlib.resources.files(f"{__package__}.serving_files").iterdir():
        # A checkout may have a folder of compiled code there from an earlier version.
        if file.is_file() and not (models / file.name).exists():
            _write_text(models / file.name, file.read_text("utf-8"))


def _write_text(path, text):
    with files.atomic_path(path) as temporary:
        temporary.write_text(text, "utf-8")
