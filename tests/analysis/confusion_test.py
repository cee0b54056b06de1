"""Plot of a confusion matrix: names with special characters, and counts."""

import pytest

from albert_keras.analysis.confusion import plot_confusion_matrix

LABELS = ["$5", "a_b^c", "plain"]
COUNTS = [[417, 0, 31], [0, 0, 0], [2, 908, 65]]


def test_plot_shows_names_and_counts(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    few = {"labels": LABELS, "confusion_matrix": COUNTS}
    # Too many classes for numbers.
    many = {"labels": LABELS * 7, "confusion_matrix": [row * 7 for row in COUNTS * 7]}
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        plot_confusion_matrix(few, tmp_path / "few.svg")
        plot_confusion_matrix(many, tmp_path / "many.svg")
    for name, num_names, num_counts in (("few", 2, 1), ("many", 14, 0)):
        text = (tmp_path / f"{name}.svg").read_text()
        assert [text.count(f">{label}<") for label in LABELS] == [num_names] * 3, name
        assert [text.count(f">{n}<") for n in (417, 31, 908)] == [num_counts] * 3, name
        assert all(f">{word}<" in text for word in ("predicted", "true"))
    plot_confusion_matrix(few, tmp_path / "few.png")
    assert (tmp_path / "few.png").read_bytes().startswith(b"\x89PNG")
