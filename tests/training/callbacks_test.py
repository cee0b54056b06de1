"""Callbacks that nothing else shows: the counting of steps."""

import io

import pytest
import rich.console
import rich.progress

from albert_keras.training.callbacks import RichProgress, StopAtStep


class FakeModel:
    stop_training = False


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
