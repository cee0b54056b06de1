"""The tool that scores and times the variants of a run beside each other."""

import json

import pytest

from albert_keras.runs import evaluate_run
from tests.figure_checks import check_layout
from tests.runs.conftest import finish, rows
from tools.benchmarks import pareto

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


def test_front_has_those_that_no_other_beats_and_labels_their_places():
    pytest.importorskip("matplotlib")
    names = ("name", "kind", "score", "milliseconds")
    variants = [
        ("runs/sst2", "run", 0.902, 40.0),
        ("3 of 12 layers", "fixed depth", 0.82, 10.5),
        ("exit by patient confidence", "exit rule", 0.9, 21.0),
        ("SavedModel", "SavedModel", 0.902, 38.0),
        ("TFLite int8", "TFLite", 0.899, 38.5),
        ("runs/$tudent", "run", 0.82, 9.0),
    ]
    results = {
        "metric": "accuracy",
        "num_rows": 1_872,
        "batch_size": 1,
        "variants": [dict(zip(names, variant, strict=True)) for variant in variants],
    }
    front = pareto.front_of(results["variants"])
    assert front == ["runs/$tudent", "exit by patient confidence", "SavedModel"]
    figure = pareto.plot(results)
    check_layout(figure)
    # Without their lines to the points.
    boxes = [t.get_bbox_patch().get_window_extent() for t in figure.axes[0].texts]
    assert len(boxes) == len(variants)
    for place, box in enumerate(boxes):
        assert not box.count_overlaps(boxes[:place])
