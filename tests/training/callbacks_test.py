"""Callbacks that nothing else shows: the counting of steps."""

import io
import json

import pytest
import rich.console
import rich.progress

from albert_keras.training.callbacks import JsonLinesLogger, RichProgress, StopAtStep


class FakeOptimizer:
    learning_rate = 0.5


class FakeModel:
    stop_training = False
    optimizer = FakeOptimizer()


def test_stop_counts_resumed_steps():
    callback, model = StopAtStep(initial_step=7, num_steps=9), FakeModel()
    callback.set_model(model)
    callback.on_train_batch_end(0)
    assert not model.stop_training
    callback.on_train_batch_end(1)
    assert model.stop_training


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_shows_loss_and_evaluation(terminal):
    text = io.StringIO()
    console = rich.console.Console(file=text, width=120, force_terminal=terminal)
    with rich.progress.Progress(console=console) as progress:
        callback = RichProgress(3, 11, progress, every_steps=2)
        callback.on_train_begin()
        callback.on_train_batch_end(0, {"loss": 1.25})
        callback.on_epoch_end(0, {"loss": 1.25, "val_loss": 0.5})
    assert "step 4: loss 0.5000" in text.getvalue()
    assert "loss 1.250" in text.getvalue()
    # A log file or notebook shows no moving bar: it gets lines.
    assert ("step 4/11: loss 1.250" in text.getvalue()) == (not terminal)


def test_log_lines_are_means_of_their_own_steps(tmp_path):
    logger = JsonLinesLogger(initial_step=4, path=tmp_path / "log.jsonl", every_steps=2)
    logger.set_model(FakeModel())
    logger.on_train_begin()
    # Keras passes the mean since the epoch began, here of the losses 8, 6, 4, 2.
    logger.on_epoch_begin(0)
    for mean in (8.0, 7.0, 6.0, 5.0):
        logger.on_train_batch_end(0, {"loss": mean})
    logger.on_epoch_end(0, {"loss": 5.0, "val_loss": 1.0})
    logger.on_epoch_begin(1)
    logger.on_train_batch_end(0, {"loss": 1.5})
    logger.on_train_batch_end(0, {"loss": 1.25})
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert [entry["step"] for entry in entries] == [6, 8, 8, 10]
    assert [entry.get("loss") for entry in entries] == [7.0, 3.0, None, 1.25]
    assert entries[2]["val_loss"] == 1.0
    assert entries[0]["learning_rate"] == 0.5
