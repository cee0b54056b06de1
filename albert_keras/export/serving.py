"""The files of TensorFlow Serving: a version of a model, and a server's configuration."""

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
from albert_keras.export.signatures import (
    SERVING_SIGNATURE,
    backbone_config,
    check_backend,
)
from albert_keras.system import files

WARM_UP_FILE = "tf_serving_warmup_requests"
# Rows of the warm-up requests of each signature.
WARM_UP_ROWS = (1, 8, 32)
# Texts in a row of choices, as RACE has.
NUM_CHOICES = 4
MODELS_FILE = "models.config"
# Where the container of docker-compose.yml has the folder of all models.
_MOUNTED = "/models"


def export_serving(model, path, **options):
    """Writes a version of a model for TensorFlow Serving, with all that a server needs.

    Of `path`, such as `models/reviews/1`, the last part is the version and the one before
    it the name of the model. The version's folder is a SavedModel with warm-up requests,
    which the server runs before it takes others. In the folder of all models, `models`,
    are written:

    - `models.config`, with every model there, and `batching.config`;
    - `docker-compose.yml`: `docker compose up` in that folder starts a server;
    - `NAME.request.json`, a REST request: `curl -d @NAME.request.json
      localhost:8501/v1/models/NAME:predict`; and `request_grpc.py`.

    The last ones are left as they are where they exist.

    Args:
        model: One of our models.
        path: str or path. The version's folder; a SavedModel in it is replaced.
        **options: Those of `export_saved_model`.

    Returns:
        `Exported`: the `path`, and `num_bytes` of the version.

    Raises:
        ValueError: If the path is not a name and a version.
        ImportError: If tensorflow-serving-api is absent.
    """
    check_backend()
    path = pathlib.Path(path).resolve()
    name, models = path.parent.name, path.parent.parent
    is_name = re.fullmatch(r"[A-Za-z0-9][\w.-]*", name, re.ASCII)
    if not (is_name and path.name.isdecimal() and int(path.name)):
        raise ValueError(
            "TensorFlow Serving finds a model in a folder of a name and a version, a "
            "positive number, such as models/reviews/1. Received: "
            f"path={shown(str(path))}."
        )
    files.check_replaceable_folder(path, GRAPH_FILE)
    import_optional("tensorflow_serving.apis", "serving")
    with files.atomic_folder(path) as folder:
        export_saved_model(model, folder, **options)
        longest = options.get("sequence_length")
        longest = longest or backbone_config(model).max_sequence_length
        requests = _write_warm_up(folder, name, longest)
    _write_server_files(models, name, requests[0][1])
    return measured(path)


def _write_warm_up(folder, name, longest):
    """Runs requests of all signatures, and writes them; returns them.

    TensorFlow Serving loads no model of which one warm-up request fails.
    """
    log = import_optional("tensorflow_serving.apis.prediction_log_pb2", "serving")
    # Registers the tokenizer's operations.
    import_optional("tensorflow_text", "lite")
    requests = []
    file = assets_of(folder) / WARM_UP_FILE
    file.parent.mkdir(exist_ok=True)
    functions = tf.saved_model.load(str(folder)).signatures
    with tf.io.TFRecordWriter(str(file)) as writer:
        for signature in sorted(functions, key=lambda name: name != SERVING_SIGNATURE):
            _, specs = functions[signature].structured_input_signature
            for rows in WARM_UP_ROWS:
                inputs = {
                    input_name: _example(spec, rows, longest)
                    for input_name, spec in sorted(specs.items())
                }
                functions[signature](**{k: tf.constant(v) for k, v in inputs.items()})
                record = log.PredictionLog()
                request = record.predict_log.request
                request.model_spec.name = name
                request.model_spec.signature_name = signature
                for key, value in inputs.items():
                    request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
                writer.write(record.SerializeToString(deterministic=True))
                requests.append((signature, inputs))
    return requests


def _example(spec, rows, longest):
    """Returns an input of the rows, of as many tokens as they may have."""
    if spec.dtype != tf.string:
        shape = [size or longest for size in spec.shape]
        return np.ones([rows, *shape[1:]], spec.dtype.as_numpy_dtype)
    lines = sample.CORPUS.read_text("utf-8").split("\n")
    texts = [line for line in lines if line][: max(WARM_UP_ROWS)]
    # A multiple choice has several texts in a row.
    shape = [rows] + [NUM_CHOICES] * (spec.shape.rank - 1)
    return np.resize(np.array(texts, object), shape)


def _write_server_files(models, name, inputs):
    """Writes the configuration of a server of all models in a folder, and a request."""
    known = {path.parent.parent.name for path in models.glob(f"*/*/{GRAPH_FILE}")}
    _write_text(models / MODELS_FILE, _models_config(known))
    values = {key: value.tolist() for key, value in inputs.items()}
    request = json.dumps({"inputs": values}, ensure_ascii=False, indent=1)
    _write_text(models / f"{name}.request.json", request + "\n")
    for file in importlib.resources.files(f"{__package__}.serving_files").iterdir():
        if file.is_file() and not (models / file.name).exists():
            _write_text(models / file.name, file.read_text("utf-8"))


def _models_config(names):
    from google.protobuf import text_format
    from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

    config = ModelServerConfig()
    for name in sorted(names):
        config.model_config_list.config.add(
            name=name, base_path=f"{_MOUNTED}/{name}", model_platform="tensorflow"
        )
    return text_format.MessageToString(config)


def _write_text(path, text):
    with files.atomic_path(path) as temporary:
        temporary.write_text(text, "utf-8")
