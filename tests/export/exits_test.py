"""Early exit in TFLite files, against simulation on the logits of all depths."""

import numpy as np
import pytest
from scipy.special import softmax

from albert_keras.compression import ExitRule, logits_at, simulate_exits
from albert_keras.export import export_calibrated_tflite, export_tflite, load_exported
from albert_keras.export.tflite import load_tflite
from albert_keras.models import AlbertTextClassifier
from tests.compression.exit_models import make_model
from tests.helpers import max_difference

interpreter = pytest.importorskip("ai_edge_litert.interpreter")


@pytest.fixture(scope="module")
def model(tokenizer):
    # Groups: a loop for each of two layers.
    model = make_model(vocabulary_size=tokenizer.vocabulary_size(), num_groups=2)
    model.preprocessor = model.preprocessor_cls(tokenizer, sequence_length=17)
    return model


@pytest.fixture(scope="module")
def rule(model, texts):
    """A rule, not the model's own, by which some texts leave after two layers."""
    logits = np.array(model.exit_logits(model.preprocessor(texts)))
    least = np.sort(softmax(logits[:, :2], axis=-1).max(axis=-1).min(axis=-1))
    threshold = float(least[3:5].mean())
    return ExitRule("patient_confidence", threshold=threshold, patience=2)


@pytest.fixture(scope="module")
def file(model, rule, tmp_path_factory):
    """The model in int8."""
    path = tmp_path_factory.mktemp("exits") / "exits.tflite"
    export_tflite(model, path, "int8", exit_rule=rule)
    return path


@pytest.mark.slow
def test_rows_leave_a_file_where_simulation_on_its_own_logits_says(
    file, model, rule, texts
):
    logits = load_tflite(file, signature="exit_logits").predict(texts)["exit_logits"]
    features = model.preprocessor(texts)
    assert max_difference(logits, model.exit_logits(features)) < 0.05
    received = load_exported(file).predict(texts)
    exits = simulate_exits(rule, logits)
    assert len(set(exits)) > 1
    assert received["exit_depth"].tolist() == exits.tolist()
    assert max_difference(received["logits"], logits_at(logits, exits)) == 0.0

    loaded = interpreter.Interpreter(str(file))
    loaded.allocate_tensors()
    inputs = {name: np.asarray(value, "int32") for name, value in features.items()}
    # All rows together leave at the same depths.
    together = loaded.get_signature_runner("serving_default")(**inputs)
    assert together["exit_depth"].tolist() == exits.tolist()


@pytest.mark.slow
def test_heads_stay_in_float32_and_weights_are_stored_once(file, model):
    content = file.read_bytes()
    assert content.count(np.array(model.exit_weights()[0]).tobytes()) == 1
    plain = AlbertTextClassifier(model.backbone, 3)
    path = file.with_name("plain.tflite")
    export_tflite(plain, path, "int8")
    # Two signatures: their graphs are in it, and no second weights.
    table = model.backbone.embedding.token_embedding.embeddings
    scale = np.abs(np.array(table)).max() / 127
    stored = np.round(np.array(table) / scale).astype("int8").tobytes()
    assert content.count(stored) == path.read_bytes().count(stored) == 1


def test_a_rule_needs_exits(classifier, tmp_path):
    with pytest.raises(ValueError, match="with exits. Received: AlbertTextClassifier"):
        export_tflite(classifier, tmp_path / "x", exit_rule=ExitRule("patience"))
    with pytest.raises(ValueError, match="with exits. .* AlbertTextClassifier"):
        export_calibrated_tflite(classifier, tmp_path / "x", ["a text"])
    assert not list(tmp_path.iterdir())
