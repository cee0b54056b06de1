"""Variants of a run, scored and timed beside each other."""

import json

import pytest

from albert_keras.runs import evaluate_run, pareto

interpreter = pytest.importorskip("ai_edge_litert.interpreter")
FACTS = {"labels": ("a", "b")}


@pytest.mark.slow
def test_variants_of_a_run_with_exits(finish, rows, call, fail, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    # One of the forms: they differ in their writers.
    forms = {"TFLite int8": pareto.EXPORTED["TFLite int8"]}
    monkeypatch.setattr(pareto, "EXPORTED", forms)
    run, model = finish("text-classification", facts=FACTS, early_exit="joint")
    model.exit_rule = {"name": "patience", "patience": 2}
    model.save_to_preset(str(run / "model"))
    words = [run, "--data", rows, "--num-rounds", 2, "--num-timed-rows", 7]
    words += ["--output", tmp_path / "a.json", "--plot", tmp_path / "a.png"]
    results = call("analyze", "pareto", *words)
    assert json.loads((tmp_path / "a.json").read_text()) == results
    assert (tmp_path / "a.png").stat().st_size > 0
    assert (results["num_rows"], results["num_timed_rows"]) == (40, 7)
    variants = {variant["name"]: variant for variant in results["variants"]}
    cuts = ["1 of 3 layers", "2 of 3 layers"]
    full = f"{tmp_path.name}/run"
    assert [*variants] == [full, *cuts, "exit by patience", "TFLite int8"]
    depths = [variants[name]["mean_depth"] for name in (*cuts, full)]
    assert depths == [1, 2, 3]
    assert min(variant["milliseconds"] for variant in variants.values()) > 0
    scores = evaluate_run(run, rows)
    rule = variants["exit by patience"]
    assert rule["score"] == scores["accuracy"]
    assert rule["mean_depth"] == scores["mean_exit_depth"]
    assert variants["TFLite int8"]["bytes"] > 10**6
    assert set(results["front"]) <= variants.keys()

    line = fail("analyze", "pareto", run, run, "--data", rows)
    assert "different ones, with different names" in line
    assert "needs --data" in fail("analyze", "pareto", run)
    assert "needs 0 models" in fail("analyze", "parameters", run)


@pytest.mark.slow
def test_only_tasks_of_texts_have_variants(finish, rows, fail):
    run, _ = finish("tagging")
    line = fail("analyze", "pareto", run, "--data", rows)
    assert "regressions of texts are measured" in line
