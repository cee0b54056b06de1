"""Plot of a confusion matrix: names of all kinds, counts, and their layout."""

import json

import pytest
import sklearn.metrics

from albert_keras.analysis.confusion import plot_confusion_matrix
from tests.figure_checks import check_layout, texts_of

pytest.importorskip("matplotlib")

COUNTS = [[417, 0, 31], [0, 0, 0], [2, 908, 65]]
NAMES = ["$5", "a_b^c", "plain"]


def matrix_of(names):
    """Returns a report of as many classes as there are names."""
    counts = [
        [7 * row + column for column in range(len(names))] for row in range(len(names))
    ]
    return {"labels": names, "confusion_matrix": counts}


def test_plot_shows_names_counts_and_the_score(tmp_path):
    folder = tmp_path / "runs" / "sst2"
    folder.mkdir(parents=True)
    report = {"scores": {}, "labels": NAMES, "confusion_matrix": COUNTS}
    (folder / "report.json").write_text(json.dumps(report))
    figure = plot_confusion_matrix(folder, folder / "matrix.png")
    assert (folder / "matrix.png").read_bytes().startswith(b"\x89PNG")
    # 417 + 65 of 1,423 are right.
    title = "Confusion matrix of runs/sst2\naccuracy 33.9% of 1,423 examples"
    assert {*NAMES, "417", "31", "908", title, "predicted", "true"} <= texts_of(figure)
    assert texts_of(plot_confusion_matrix(folder / "report.json")) == texts_of(figure)
    plain = texts_of(plot_confusion_matrix(report)) ^ texts_of(figure)
    assert plain == {title, title.replace(" of runs/sst2", "")}


@pytest.mark.parametrize(
    ("names", "slant"),
    [
        (["only"], 0),
        (["negative", "positive"], 0),
        (["a label that tells all about its class", "$5 and $6", "x"], 45),
        ([f"topic {place}" for place in range(14)], 45),
        ([str(place) for place in range(14)], 0),
    ],
)
def test_layout(names, slant):
    figure = plot_confusion_matrix(matrix_of(names))
    check_layout(figure)
    (axes,) = figure.axes
    assert {label.get_rotation() for label in axes.get_xticklabels()} == {slant}
    (bar,) = axes.child_axes
    heights = [each.get_window_extent().height for each in (axes, bar)]
    assert heights[0] == pytest.approx(heights[1])


def test_the_matrix_of_scikit_learn():
    counts = sklearn.metrics.confusion_matrix([0, 1, 1, 2, 2, 2], [0, 1, 2, 2, 2, 0])
    figure = plot_confusion_matrix({"labels": NAMES, "confusion_matrix": counts})
    texts = texts_of(figure)
    assert {"0", "1", "2", "Confusion matrix\naccuracy 66.7% of 6 examples"} <= texts


def test_a_report_without_a_matrix_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must have .*, with scores"):
        plot_confusion_matrix({"scores": {}})
    with pytest.raises(FileNotFoundError, match=r"report\.json"):
        plot_confusion_matrix(tmp_path)
