"""The graph of an ONNX model: axes, metadata, and one operation a normalization."""

import collections
import json

import pytest

from albert_keras.export import export_onnx
from albert_keras.models import HEADS
from tests.converters.saving_test import make_model

onnx = pytest.importorskip("onnx")
pytest.importorskip("tf2onnx")


def axes_of(values):
    """Returns the names or sizes of the axes of inputs or outputs."""
    return {
        value.name: [
            dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim
        ]
        for value in values
    }


def load_checked(path):
    """Returns a model that ONNX's checker takes, and its metadata."""
    model = onnx.load(path / "model.onnx")
    onnx.checker.check_model(model, full_check=True)
    return model, {entry.key: entry.value for entry in model.metadata_props}


def test_axes_metadata_and_normalizations(tmp_path):
    backbone = make_model(None, num_layers=2)
    labels = ["bad", "so-so", "göod"]
    classifier = HEADS["sequence_classification"].model(backbone, 3, labels=labels)
    export_onnx(classifier, tmp_path, batch_size=5)
    model, metadata = load_checked(tmp_path)
    inputs = ("padding_mask", "segment_ids", "token_ids")
    assert axes_of(model.graph.input) == {key: [5, "length"] for key in inputs}
    outputs = ("logits", "probabilities")
    assert axes_of(model.graph.output) == {key: [5, 3] for key in outputs}
    counts = collections.Counter(node.op_type for node in model.graph.node)
    # Of the embeddings, and two of each layer.
    assert counts["LayerNormalization"] == 5
    assert counts["GlobalAveragePool"] == counts["ReduceMean"] == 0
    assert json.loads(metadata.pop("labels")) == labels
    expected = {"task": "sequence_classification", "sequence_length": "19"}
    assert metadata == expected
