"""Learning curves: the log read back, and the plots of runs and histories."""

import math
import types

import keras
import pytest

from albert_keras.analysis.learning_curve import plot_learning_curve, read_log
from tests.figure_checks import check_layout, legend_of, texts_of, write_run

Figure = pytest.importorskip("matplotlib.figure").Figure

ENTRIES = [
    {"step": 2, "loss": 9.0, "learning_rate": 0.1},
    {"step": 4, "loss": 8.0, "learning_rate": 0.2, "val_loss": 8.5},
    {"step": 3, "loss": 8.75, "learning_rate": 0.15},
    {"step": 4, "loss": 8.25, "learning_rate": 0.2, "val_loss": 8.4},
]
PRETRAINING = ("mlm_logits_loss", "sop_logits_loss", "sop_logits_accuracy")


@pytest.fixture
def pretraining(tmp_path):
    """A pretraining run of 90 steps, evaluated at two of them."""
    entries = [
        {
            **{"step": step, "seconds": 0.1 * step, "tokens_per_second": 5.0},
            **{"learning_rate": 2e-5 * (100 - step), "loss": 7.5},
            **{name: 7 - 0.01 * step for name in PRETRAINING},
            "gradient_norm": 0.01 * 1.1**step,
        }
        for step in range(5, 95, 5)
    ]
    for step in (45, 90):
        measured = {f"val_{name}": 7 - 0.009 * step for name in PRETRAINING}
        entries.append(
            {"step": step, "learning_rate": 1e-3, "val_loss": 7.0, **measured}
        )
    return write_run(
        tmp_path / "runs" / "base",
        entries,
        run={"schedule": {"learning_rate": 2e-3, "warmup_steps": 4}},
    )


def panels_of(figure):
    return {axes.get_title(): axes for axes in figure.axes}


def test_later_entries_of_a_resumed_run_count(tmp_path):
    series = read_log(write_run(tmp_path / "run", ENTRIES) / "log.jsonl")
    assert series["loss"] == ([2, 3, 4], [9.0, 8.75, 8.25])
    assert series["val_loss"] == ([4], [8.4])


def test_a_panel_has_one_quantity_and_its_baselines(pretraining, tmp_path):
    figure = plot_learning_curve(pretraining, tmp_path / "curve.png")
    assert isinstance(figure, Figure)
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    check_layout(figure)
    assert "Learning curves of runs/base" in texts_of(figure)
    panels = panels_of(figure)
    # The sum of the losses is left out.
    assert list(panels) == [
        *("Masked-token loss (nats)", "Sentence-pair loss (nats)"),
        *("Sentence-pair accuracy", "Learning rate", "Gradient norm"),
    ]
    levels = {
        title: [line.get_ydata()[0] for line in axes.lines if line.get_color() == "0.3"]
        for title, axes in panels.items()
    }
    assert levels["Sentence-pair loss (nats)"] == [math.log(2)]
    assert levels["Sentence-pair accuracy"] == [0.5]
    assert legend_of(figure) == ["training", "held out", "chance"]


def test_warm_up_begins_at_zero_and_ticks_are_plain(pretraining):
    panels = panels_of(plot_learning_curve(pretraining / "log.jsonl"))
    line = panels["Learning rate"].lines[0]
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (0, 0.0)
    # It grows 3,400 times.
    norm = panels["Gradient norm"]
    assert norm.get_yscale() == "log"
    norm.figure.canvas.draw()
    labels = {label.get_text() for label in norm.get_yticklabels()}
    assert {"0.1", "1", "10"} <= labels


def test_best_step_and_main_metric_of_a_fine_tuning(tmp_path):
    entries = [{"step": 3, "start_logits_loss": 2.5, "learning_rate": 0.5}]
    entries += [
        {"step": step, "learning_rate": 0.5, "val_f1": f1, "val_majority_accuracy": 0.6}
        for step, f1 in ((4, 31.5), (8, 35.25), (12, 33.0))
    ]
    report = {"main_metric": "f1", "best_step": 8, "scores": {}}
    run = write_run(tmp_path / "run", entries, report=report, run={"recipe": {}})
    figure = plot_learning_curve(run)
    check_layout(figure)
    panels = panels_of(figure)
    assert list(panels) == ["Loss of answer starts (nats)", "F1", "Learning rate"]
    (star,) = [line for line in panels["F1"].lines if line.get_marker() == "*"]
    assert (star.get_xdata()[0], star.get_ydata()[0]) == (8, 35.25)
    assert legend_of(figure) == ["training", "held out", "best step: 8"]
    assert panels["Learning rate"].lines[0].get_xdata()[0] == 3


def test_a_history_of_fit():
    history = keras.callbacks.History()
    history.set_model(types.SimpleNamespace())
    history.on_train_begin()
    for epoch in range(4, 10):
        held_out = {"val_loss": 2.5} if epoch in (5, 8) else {}
        history.on_epoch_end(epoch, {"loss": 3.0 / epoch, "my_score": 1.0, **held_out})
    figure = plot_learning_curve(history)
    check_layout(figure)
    loss, score = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["Loss", "My score"]
    assert list(loss.lines[0].get_xdata()) == [5, 6, 7, 8, 9, 10]
    assert list(loss.lines[1].get_xdata()) == [6, 9]
    assert score.get_xlabel() == "epoch"
    (loss, _) = plot_learning_curve(history.history).axes
    assert list(loss.lines[0].get_xdata()) == [1, 2, 3, 4, 5, 6]


def test_one_epoch_is_a_point_and_nothing_is_an_error(tmp_path):
    figure = plot_learning_curve({"loss": [1.5]})
    check_layout(figure)
    assert figure.axes[0].lines[0].get_marker() == "."
    with pytest.raises(ValueError, match="needs logged quantities. Received: {}"):
        plot_learning_curve({})
    with pytest.raises(FileNotFoundError, match=r"log\.jsonl"):
        plot_learning_curve(tmp_path)
