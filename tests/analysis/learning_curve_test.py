"""The log read back, and drawn."""

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


def test_picture_is_drawn(log, tmp_path):
    pytest.importorskip("matplotlib")
    plot_learning_curve(log, tmp_path / "curve.svg")
    text = (tmp_path / "curve.svg").read_text()
    assert "<svg" in text
    plot_learning_curve(log, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 3
