"""The tools that score variants of a run, and what cuts and pruning cost it."""

import json

import pytest

from albert_keras.runs import evaluate_run
from tests.runs.conftest import finish, rows
from tools.benchmarks import pareto, sensitivity

__all__ = ["finish", "rows"]


@pytest.mark.slow
def test_variants_of_a_run_with_exits(finish, rows, tmp_path, monkeypatch, capsys):
    pytest.importorskip("ai_edge_litert.interpreter")
    # One of the forms: they differ in their writers.
    forms = {"TFLite int8": pareto.EXPORTED["TFLite int8"]}
    monkeypatch.setattr(pareto, "EXPORTED", forms)
    facts = {"labels": ("a", "b")}
    run, model = finish("text-classification", facts=facts, early_exit="joint")
    model.exit_rule = {"name": "patience", "patience": 2}
    model.save_to_preset(str(run / "model"))
    words = [run, "--data", rows, "--num-rounds", 2, "--num-timed-rows", 7]
    words += ["--output", tmp_path / "a.json", "--plot", tmp_path / "a.png"]
    pareto.main([*map(str, words)])
    assert "2 of 3 layers: 0." in capsys.readouterr().out
    results = json.loads((tmp_path / "a.json").read_text())
    assert (tmp_path / "a.png").stat().st_size > 0
    assert (results["num_rows"], results["num_timed_rows"]) == (40, 7)
    variants = {variant["name"]: variant for variant in results["variants"]}
    cuts = ["1 of 3 layers", "2 of 3 layers"]
    full = f"{tmp_path.name}/run"
    assert [*variants] == [full, *cuts, "exit by patience", "TFLite int8"]
    assert [variants[name]["mean_depth"] for name in (*cuts, full)] == [1, 2, 3]
    assert min(variant["milliseconds"] for variant in variants.values()) > 0
    scores = evaluate_run(run, rows)
    rule = variants["exit by patience"]
    assert rule["score"] == scores["accuracy"]
    assert rule["mean_depth"] == scores["mean_exit_depth"]


# === The tool that measures what cuts, quantization and pruning of heads cost a run ===


@pytest.mark.slow
def test_a_run_without_exits(finish, rows, tmp_path, monkeypatch, capsys):
    pytest.importorskip("ai_edge_litert.interpreter")
    # One of the forms: they differ in their writers.
    monkeypatch.setattr(sensitivity, "QUANTIZED", ("TFLite int8",))
    run, _ = finish("text-classification", facts={"labels": ("a", "b")})
    words = [run, "--data", rows]
    words += ["--output", tmp_path / "a.json", "--plot", tmp_path / "a.png"]
    sensitivity.main([*map(str, words)])
    assert "without head 2 of layer 1, 2, 3: 0." in capsys.readouterr().out
    results = json.loads((tmp_path / "a.json").read_text())
    assert (tmp_path / "a.png").stat().st_size > 0
    score = evaluate_run(run, rows)["accuracy"]
    assert (results["num_rows"], results["score"]) == (40, score)
    assert [each["depth"] for each in results["depths"]] == [1, 2, 3]
    assert results["quantization"][0]["bytes"] > 10**6
    # One layer is shared by all.
    heads, pruned = results["heads"], results["pruned"]
    assert [head["head"] for head in heads] == [1, 2, 3, 4]
    assert [each["num_heads"] for each in pruned] == [1, 2, 3, 4]
    assert pruned[0]["cost"] == min(head["cost"] for head in heads)
    for each in (*results["depths"], *heads, *pruned):
        assert each["cost"] == pytest.approx(score - each["score"])
