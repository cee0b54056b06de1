"""The front of the best variants, and their plot."""

import pytest

from albert_keras.analysis.pareto import pareto_front, plot_pareto
from tests.figure_checks import check_layout, texts_of

pytest.importorskip("matplotlib")

VARIANTS = [
    ("runs/sst2", "run", 0.902, 40.0),
    ("3 of 12 layers", "fixed depth", 0.82, 10.5),
    ("9 of 12 layers", "fixed depth", 0.9, 30.4),
    ("exit by patient confidence", "exit rule", 0.9, 21.0),
    ("SavedModel", "SavedModel", 0.902, 38.0),
    ("TFLite float32", "TFLite", 0.902, 39.0),
    ("TFLite float16", "TFLite", 0.901, 39.5),
    ("TFLite int8", "TFLite", 0.899, 38.5),
    ("runs/$tudent", "run", 0.82, 9.0),
]


def make_results(variants, batch_size=32):
    names = ("name", "kind", "score", "milliseconds")
    return {
        "metric": "accuracy",
        "num_rows": 1_872,
        "batch_size": batch_size,
        "variants": [dict(zip(names, variant, strict=True)) for variant in variants],
    }


def test_front_has_those_that_no_other_beats():
    front = pareto_front(make_results(VARIANTS)["variants"])
    assert front == ["runs/$tudent", "exit by patient confidence", "SavedModel"]


@pytest.mark.parametrize("variants", [VARIANTS, VARIANTS[:1]])
def test_labels_cover_no_other_label(variants, tmp_path):
    figure = plot_pareto(make_results(variants, batch_size=1), tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_bytes().startswith(b"<?xml")
    check_layout(figure)
    assert {variant[0] for variant in variants} <= texts_of(figure)
    (axes,) = figure.axes
    assert axes.get_ylabel() == "accuracy (1,872 rows)"
    assert "one at a time" in axes.get_xlabel()
    # Without their lines to the points.
    boxes = [text.get_bbox_patch().get_window_extent() for text in axes.texts]
    for place, box in enumerate(boxes):
        assert not box.count_overlaps(boxes[:place])
