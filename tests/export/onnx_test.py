"""ONNX: every head in ONNX Runtime against Keras, and text through the loader."""

import keras_hub
import numpy as np
import pytest

from albert_keras.converters import change_architecture
from albert_keras.export import export_onnx, load_exported
from albert_keras.export.signatures import predicting_model
from albert_keras.models import HEADS, AlbertTextClassifier
from tests.converters.saving_test import make_model
from tests.export.conftest import assert_serves
from tests.export.onnx_graph_test import axes_of, load_checked
from tests.helpers import max_difference
from tools.verify_conversion import random_inputs

pytest.importorskip("tf2onnx")
LABELS = ["bad", "so-so", "göod"]

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

# A server without TensorFlow.
SERVE = """
import sys
sys.modules["tensorflow"] = sys.modules["keras"] = None
import numpy as np
import onnxruntime
for path in sys.argv[1:]:
    session = onnxruntime.InferenceSession(f"{path}/model.onnx")
    names = [output.name for output in session.get_outputs()]
    for number in range(2):
        features = dict(np.load(f"{path}/{number}.npz"))
        outputs = dict(zip(names, session.run(names, features)))
        np.savez(f"{path}/outputs_{number}.npz", **outputs)
"""


def assert_axes(name, path):
    model, metadata = load_checked(path)
    axes = axes_of([*model.graph.input, *model.graph.output])
    assert axes.items() >= AXES.get(name, {}).items()
    assert metadata["task"] == {"blocks": "sequence_classification"}.get(name, name)


@pytest.mark.slow
def test_every_head_runs_without_tensorflow_at_any_batch_and_length(
    tmp_path, run_fresh
):
    models = {
        head or "backbone": make_model(head, num_layers=2) for head in (None, *HEADS)
    }
    plain = models["sequence_classification"]
    models["blocks"] = change_architecture(plain, attention="block", block_size=3)
    inputs = {}
    for name, model in list(models.items()):
        export_onnx(model, tmp_path / name)
        assert_axes(name, tmp_path / name)
        # Of a joint question answerer, the search.
        models[name] = model = predicting_model(model)
        inputs[name] = [random_inputs(model, seed=3), random_inputs(model, seed=5)]
        # Another batch, and shorter rows but for places in them.
        for key, value in inputs[name][1].items():
            cut = value[:1] if key.endswith("_positions") else value[:1, ..., :7]
            inputs[name][1][key] = np.minimum(cut, 6) if cut is not value else cut
        for number, features in enumerate(inputs[name]):
            np.savez(tmp_path / name / f"{number}.npz", **features)

    run_fresh(SERVE, *(tmp_path / name for name in models))

    for name, model in models.items():
        for number, features in enumerate(inputs[name]):
            found = np.load(tmp_path / name / f"outputs_{number}.npz")
            assert_serves(model, features, found)


def test_text_is_classified_by_the_preprocessor_beside(backbone, tokenizer, tmp_path):
    preprocessor = keras_hub.models.TextClassifierPreprocessor(
        tokenizer, sequence_length=13
    )
    model = AlbertTextClassifier(backbone, 3, preprocessor, labels=LABELS)
    export_onnx(model, tmp_path / "model")
    texts = ["The baker counts storms.", "", "gulls " * 30]
    outputs = load_exported(tmp_path / "model").predict(texts)
    expected = model.predict(texts, verbose=0)
    assert max_difference(outputs["logits"], expected) < 1e-5
    assert outputs["label"].tolist() == [LABELS[i] for i in expected.argmax(axis=-1)]


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


@pytest.mark.slow
def test_weights_are_stored_once(large_classifier, tmp_path):
    exported = export_onnx(large_classifier, tmp_path / "model")
    assert exported.num_bytes < 1.05 * 4 * large_classifier.count_params()
