"""ONNX folders: axes, metadata, one operation a normalization, and errors."""

import collections
import json

import pytest

from albert_keras.export import export_onnx, load_exported
from albert_keras.models import HEADS
from tests.converters.saving_test import make_model

onnx = pytest.importorskip("onnx")
pytest.importorskip("tf2onnx")

# Some of the axes of heads with others than batch and length.
AXES = {
    "backbone": {"sequence_output": ["batch", "length", 28]},
    "pretraining": {
        "mask_positions": ["batch", "masks"],
        "mlm_logits": ["batch", "masks", 61],
        "sop_logits": ["batch", 2],
    },
    "multiple_choice": {
        "token_ids": ["batch", "choices", "length"],
        "logits": ["batch", "choices"],
    },
    "joint_question_answering": {
        "answer_mask": ["batch", "length"],
        "end_log_probs": ["batch", "starts", "ends"],
    },
}


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


@pytest.mark.slow
@pytest.mark.parametrize("name", AXES)
def test_axes_of_other_heads(name, tmp_path):
    export_onnx(make_model(None if name == "backbone" else name), tmp_path)
    model, metadata = load_checked(tmp_path)
    axes = axes_of([*model.graph.input, *model.graph.output])
    assert axes.items() >= AXES[name].items()
    assert metadata["task"] == name


def test_what_cannot_be_written_or_read_is_refused(classifier, tokenizer, tmp_path):
    with pytest.raises(ValueError, match="takes ids; .* stored beside it. Received: "):
        export_onnx(classifier, tmp_path / "model", tokenizer)
    assert not list(tmp_path.iterdir())
    export_onnx(classifier, tmp_path / "model")
    with pytest.raises(
        ValueError, match="have a tokenizer and a preprocessor or a task"
    ):
        load_exported(tmp_path / "model")
    (tmp_path / "model" / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ValueError, match="must be a folder with an ONNX model"):
        load_exported(tmp_path / "model")
