"""Learning curves: the log read back, and the plot."""

import json

import pytest

from albert_keras.analysis.learning_curve import plot_learning_curve, read_log

ENTRIES = [
    {"step": 2, "loss": 9.0, "learning_rate": 0.1},
    {"step": 4, "loss": 8.0, "learning_rate": 0.2, "val_loss": 8.5},
    {"step": 3, "loss": 8.75, "learning_rate": 0.15},
    {"step": 4, "loss": 8.25, "learning_rate": 0.2, "val_loss": 8.4},
]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in ENTRIES))
    return path


def test_later_entries_of_a_resumed_run_count(log):
    series = read_log(log)
    assert series["loss"] == ([2, 3, 4], [9.0, 8.75, 8.25])
    assert series["val_loss"] == ([4], [8.4])


def test_plot_has_a_panel_for_each_logged_series(log, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        plot_learning_curve(log, tmp_path / "curve.svg")
        with log.open("a") as file:
            more = {"step": 5, "mlm_accuracy": 0.5, "gradient_norm": 2.5}
            file.write(json.dumps(more) + "\n")
        plot_learning_curve(log, tmp_path / "more.svg")
    labels = {"loss (nats)", "accuracy", "learning rate", "gradient norm"}
    for name, drawn in (
        ("curve.svg", {"loss (nats)", "learning rate"}),
        ("more.svg", labels),
    ):
        text = (tmp_path / name).read_text()
        assert {label for label in labels if f">{label}<" in text} == drawn
        assert ">loss, held out<" in text
    plot_learning_curve(log, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 4
