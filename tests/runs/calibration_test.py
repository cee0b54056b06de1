"""A run with exits: trained, calibrated, measured and used."""

import json

import numpy as np
import pytest

from albert_keras.cli.calibrate import brief
from albert_keras.compression import logits_at, simulate_exits
from albert_keras.export import export_calibrated_tflite
from albert_keras.export.tflite import load_tflite
from albert_keras.runs import RunFolder, load_run
from tests.runs.conftest import LENGTH


@pytest.fixture
def run(base, rows, call, tmp_path):
    """The folder and the results of a run with exits after each of three layers."""
    words = ["--task", "text-classification", "--train", rows, "--validation", rows]
    words += ["--checkpoint", base, "--num-layers", 3, "--num-steps", 2]
    words += ["--batch-size", 8, "--sequence-length", LENGTH, "--early-exit", "joint"]
    return tmp_path / "run", call("finetune", *words, "--run", tmp_path / "run")


@pytest.mark.slow
def test_a_calibrated_rule_is_used_and_can_be_overridden(run, rows, call, fail):
    run, trained = run
    full_depth = call("evaluate", run, "--data", rows)
    assert full_depth["mean_exit_depth"] == 3
    assert full_depth["accuracy"] == trained["accuracy"]

    words = ["--data", rows, "--max-changed", 0.4]
    results = call("calibrate", run, *words)
    assert results["num_rows"] == 40
    assert results["bound"] <= 0.4
    assert results["layer_ratio"] == pytest.approx(3 / results["mean_depth"])
    assert json.loads((run / "calibration.json").read_text()) == results
    assert brief(results)["rule"] == results["rule"]["name"]
    task = json.loads((run / "model" / "task.json").read_text())
    assert task["config"]["exit_rule"] == results["rule"]

    measured = call("evaluate", run, "--data", rows)
    assert measured["mean_exit_depth"] == pytest.approx(results["mean_depth"])
    forced = ["--exit-rule", "fixed_depth", "--exit-min-depth", 2]
    cut = call("evaluate", run, "--data", rows, *forced)
    assert cut["mean_exit_depth"] == 2
    (row,) = call("predict", run, "text 3", *forced)["predictions"]
    assert row["exit_depth"] == 2

    _check_calibrated_file(run, rows, call)

    line = fail("evaluate", run, "--data", rows, "--exit-patience", 2)
    assert "only with --exit-rule. Received: exit_patience" in line
    line = fail("evaluate", run, "--data", rows, "--exit-rule", "confidence")
    assert "confidence must have a positive `threshold`" in line
    assert "at least 299 rows" in fail("calibrate", run, "--data", rows)


def _check_calibrated_file(run, rows, call):
    pytest.importorskip("ai_edge_litert.interpreter")
    # All exits begin with the head of the last, so that they agree on most rows.
    task, model = load_run(run)
    pairs = zip(model.exit_heads.weights, model.output_dense.weights, strict=True)
    for variable, value in pairs:
        variable.assign(np.broadcast_to(value, variable.shape))
    RunFolder(run).save_model(model, task.tokenizer)
    file = run / "int8.tflite"
    texts = [f"text {number}" for number in range(40)]
    options = {"quantization": "int8", "max_changed": 0.4, "task": task}
    _, calibration = export_calibrated_tflite(model, file, texts, **options)
    assert calibration.num_rows == 40
    logits = load_tflite(file, signature="exit_logits").predict(texts)["exit_logits"]
    exits = simulate_exits(calibration.chosen.rule, logits)
    assert exits.mean() < 3
    changed = logits_at(logits, exits).argmax(-1) != logits[:, -1].argmax(-1)
    assert calibration.chosen.num_changed == changed.sum()
    measured = call("evaluate", file, "--data", rows)
    assert measured["mean_exit_depth"] == exits.mean() == calibration.chosen.mean_depth


@pytest.mark.slow
def test_models_without_exits_have_no_rules(base, rows, fail):
    line = fail("predict", base, "a [MASK]", "--exit-rule", "patience")
    assert "needs a model with exits. Received: AlbertPretrainer" in line
    assert "must be one of `finetune`" in fail("calibrate", base, "--data", rows)
