"""Folders for TensorFlow Serving: what it would read, and a server of its protos."""

import concurrent.futures
import json
import runpy
import sys

import grpc
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401
import yaml
from google.protobuf import text_format
from tensorflow_serving.apis import (
    predict_pb2,
    prediction_log_pb2,
    prediction_service_pb2_grpc,
)
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from albert_keras.export import export_saved_model, export_serving, load_exported
from albert_keras.export.saved_model import assets_of
from albert_keras.export.serving import WARM_UP_FILE
from albert_keras.models import AlbertMultipleChoice
from albert_keras.preprocessors import AlbertMultipleChoicePreprocessor
from albert_keras.serving import ServedModel

LABELS = ["bleak", "charming", "of the 50s"]


def options_of(tokenizer):
    return {"tokenizer": tokenizer, "labels": LABELS, "sequence_length": 19}


@pytest.fixture(scope="module")
def models(tmp_path_factory, classifier, tokenizer):
    folder = tmp_path_factory.mktemp("models")
    export_saved_model(classifier, folder / "other" / "3")
    export_serving(classifier, folder / "reviews" / "1", **options_of(tokenizer))
    return folder


def test_server_files(models):
    config = text_format.Parse(
        (models / "models.config").read_text(), ModelServerConfig()
    )
    found = {c.name: c.base_path for c in config.model_config_list.config}
    assert found == {"other": "/models/other", "reviews": "/models/reviews"}
    compose = yaml.safe_load((models / "docker-compose.yml").read_text())
    service = compose["services"]["serving"]
    assert service["volumes"] == [".:/models:ro"]
    options = dict(word.removeprefix("--").split("=") for word in service["command"])
    for option in ("model_config_file", "batching_parameters_file"):
        assert (models / options[option].removeprefix("/models/")).is_file()
    # What a user changed stays.
    (models / "docker-compose.yml").write_text("mine")


def test_warm_up_requests(models):
    file = assets_of(models / "reviews" / "1") / WARM_UP_FILE
    records = [
        prediction_log_pb2.PredictionLog.FromString(record.numpy())
        for record in tf.data.TFRecordDataset(str(file))
    ]
    found = [
        (
            record.predict_log.request.model_spec.signature_name,
            [*tf.make_ndarray(record.predict_log.request.inputs["text"]).shape],
        )
        for record in records
    ]
    expected = [
        (n, [r]) for n in ("serving_default", "serve_pairs") for r in (1, 8, 32)
    ]
    assert found == expected
    assert records[0].predict_log.request.model_spec.name == "reviews"


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """TensorFlow Serving's service, on its real protos, for one `ServedModel`.

    The server itself is in no package index. This one answers what the graph answers.
    """

    def __init__(self, model):
        self.model = model

    def Predict(self, request, context):  # noqa: N802
        assert request.model_spec.name == self.model.name
        inputs = {name: tf.make_ndarray(x) for name, x in request.inputs.items()}
        outputs = self.model.predict(inputs)
        tensors = {name: tf.make_tensor_proto(x) for name, x in outputs.items()}
        return predict_pb2.PredictResponse(outputs=tensors)


def test_the_example_request_by_grpc(models, capsys, monkeypatch):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        PredictionService(ServedModel(models / "reviews")), server
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    file = models / "reviews.request.json"
    words = ["request_grpc.py", "reviews", str(file), f"127.0.0.1:{port}"]
    monkeypatch.setattr(sys, "argv", words)
    try:
        runpy.run_path(str(models / "request_grpc.py"), run_name="__main__")
    finally:
        server.stop(0).wait()
    (text,) = json.loads(file.read_text())["inputs"]["text"]
    label = load_exported(models / "reviews" / "1").predict([text])["label"][0]
    assert f"label [{label.encode()!r}]" in capsys.readouterr().out


def test_warm_up_of_a_multiple_choice(backbone, tokenizer, tmp_path):
    preprocessor = AlbertMultipleChoicePreprocessor(tokenizer, sequence_length=19)
    export_serving(
        AlbertMultipleChoice(backbone, preprocessor), tmp_path / "race" / "7"
    )
    request = json.loads((tmp_path / "race.request.json").read_text())["inputs"]
    assert {name: np.shape(value) for name, value in request.items()} == {
        "context": (1,),
        "question": (1,),
        "choices": (1, 4),
    }


@pytest.mark.parametrize("name", ["reviews", "0", "reviews/one", "re views/1"])
def test_a_path_without_name_or_version_is_refused(name, classifier, tmp_path):
    with pytest.raises(ValueError, match="such as models/reviews/1. Received: path="):
        export_serving(classifier, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_second_version(models, classifier, tokenizer):
    options = options_of(tokenizer) | {"quantization": "bfloat16"}
    export_serving(classifier, models / "reviews" / "2", **options)
    assert ServedModel(models / "reviews").version == "2"
    assert (models / "docker-compose.yml").read_text() == "mine"
