"""What cuts, quantization and pruning of heads cost a run."""

import json

import pytest

from albert_keras.runs import evaluate_run, measure_sensitivity, sensitivity

FACTS = {"labels": ("a", "b")}


@pytest.mark.slow
def test_a_run_without_exits(finish, rows, call, fail, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("ai_edge_litert.interpreter")
    # One of the forms: they differ in their writers.
    monkeypatch.setattr(sensitivity, "QUANTIZED", ("TFLite int8",))
    run, _ = finish("text-classification", facts=FACTS)
    words = ["sensitivity", run, "--data", rows]
    files = ["--output", tmp_path / "a.json", "--plot", tmp_path / "a.png"]
    results = call("analyze", *words, *files)
    assert json.loads((tmp_path / "a.json").read_text()) == results
    assert (tmp_path / "a.png").stat().st_size > 0
    score = evaluate_run(run, rows)["accuracy"]
    assert (results["num_rows"], results["score"]) == (40, score)
    assert [each["depth"] for each in results["depths"]] == [1, 2, 3]
    assert results["depths"][-1] == {"depth": 3, "score": score, "cost": 0}
    (quantized,) = results["quantization"]
    assert quantized["bytes"] > 10**6
    # One layer is shared by all.
    heads = results["heads"]
    assert [(h["layers"], h["head"]) for h in heads] == [
        ([1, 2, 3], head) for head in (1, 2, 3, 4)
    ]
    pruned = results["pruned"]
    assert [each["num_heads"] for each in pruned] == [1, 2, 3, 4]
    assert pruned[0]["cost"] == min(head["cost"] for head in heads)
    for each in (*results["depths"], *heads, *pruned):
        assert each["cost"] == pytest.approx(score - each["score"])
    assert "needs --data" in fail("analyze", "sensitivity", run)


@pytest.mark.slow
def test_exits_are_those_of_the_run(finish, rows):
    run, _ = finish("text-classification", facts=FACTS, early_exit="joint")
    results = measure_sensitivity(run, rows, quantize=False)
    assert results["has_exits"]
    assert results["quantization"] == []
    from albert_keras.compression import ExitRule

    rule = ExitRule("fixed_depth", min_depth=2)
    expected = evaluate_run(run, rows, exit_rule=rule)["accuracy"]
    assert results["depths"][1]["score"] == expected
