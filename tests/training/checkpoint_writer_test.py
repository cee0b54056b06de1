"""Times of checkpoints, the best one, and signals."""

import pathlib
import signal

import keras
import pytest

from albert_keras.system.signals import StopSignals
from albert_keras.training import TrainerConfig
from albert_keras.training.checkpoint_writer import CheckpointWriter
from albert_keras.training.checkpoints import Best, Checkpoint


class Saved:
    """A fake `CheckpointFolder` that records the calls of `save`."""

    def __init__(self):
        self.calls = []

    def save(self, model, step, state, *, best, with_metrics):
        self.calls.append((step, best, with_metrics, state))

    def file(self, step):
        return pathlib.Path(__file__)

    def mark_best(self, best):
        self.marked = best

    def steps(self):
        return [(call[0], call[2]) for call in self.calls]


class Part:
    def restore(self, state):
        self.restored = state

    def state(self):
        return {"known": 7}


def make_writer(signals=None, initial_step=0, lines=None, state=None, **options):
    signals = signals or StopSignals()
    tell = [].append if lines is None else lines.append
    folder = Saved()
    config = TrainerConfig(1000, **options)
    resumed = Checkpoint(initial_step, state or {}, [])
    parts = {"part": Part()}
    return CheckpointWriter(resumed, folder, parts, signals, tell, config), folder


def run_epoch(writer, num_steps, logs=None, steps_per_call=1):
    writer.set_params({"steps": num_steps})
    writer.on_epoch_begin(0)
    for batch in range(steps_per_call - 1, num_steps, steps_per_call):
        writer.on_train_batch_end(batch, {})
    writer.on_epoch_end(0, logs or {})


@pytest.mark.parametrize(
    ("interval", "steps_per_call", "expected"),
    [
        (None, 1, [10, 16]),
        (3, 1, [6, 9, 10, 12, 15, 16]),
        (3, 2, [6, 10, 12, 16]),
        (5, 1, [5, 10, 15, 16]),
    ],
)
def test_states_after_evaluations_and_in_between(interval, steps_per_call, expected):
    writer, folder = make_writer(initial_step=4, steps_per_checkpoint=interval)
    run_epoch(writer, 6, steps_per_call=steps_per_call)
    run_epoch(writer, 6, steps_per_call=steps_per_call)
    # Checkpoints inside an epoch have its running means.
    assert folder.steps() == [(step, step not in (10, 16)) for step in expected]
    assert folder.calls[0][3] == {"part": {"known": 7}}


@pytest.mark.parametrize(
    ("metric", "values", "best"),
    [
        ("val_loss", [5.0, 4.0, 4.5, 4.0], [(3, 5.0), (6, 4.0), (6, 4.0), (6, 4.0)]),
        ("val_accuracy", [0.25, 0.5, 0.375], [(3, 0.25), (6, 0.5), (6, 0.5)]),
    ],
)
def test_the_first_of_equal_values_is_the_best(metric, values, best):
    writer, folder = make_writer(best_metric=metric)
    for value in values:
        run_epoch(writer, 3, {"loss": 1.0, metric: value})
    assert [call[1][:2] for call in folder.calls] == best
    assert folder.calls[-1][3]["best"] == folder.calls[-1][1]._asdict()


def test_of_equal_values_that_with_the_lower_loss_is_the_best():
    writer, folder = make_writer(best_metric="val_accuracy", patience=3)
    writer.set_model(keras.Model())
    for loss in (0.5, 0.75, 0.25):
        run_epoch(writer, 3, {"val_accuracy": 0.875, "val_loss": loss})
    assert [call[1].step for call in folder.calls] == [3, 3, 9]
    assert folder.calls[-1][3]["best"] == {"step": 9, "value": 0.875, "loss": 0.25}
    # It is no progress for `patience`.
    assert writer.num_worse == 2


def test_a_resumed_run_keeps_its_best_until_a_better_one():
    writer, folder = make_writer(
        initial_step=6, state={"best": {"step": 3, "value": 2.0}, "part": {"known": 5}}
    )
    assert folder.marked == Best(3, 2.0)
    assert writer.parts["part"].restored == {"known": 5}
    run_epoch(writer, 3, {"val_loss": 2.5})
    run_epoch(writer, 3, {"val_loss": 1.5})
    assert [call[1] for call in folder.calls] == [Best(3, 2.0), Best(12, 1.5, 1.5)]


NAN = float("nan")


def run_until_stopped(writer, values):
    """Runs an epoch of 3 steps for each value; returns the step at a stop, or None."""
    writer.set_model(keras.Model())
    writer.model.stop_training = False
    for value in values:
        run_epoch(writer, 3, {writer.config.best_metric: value})
        if writer.model.stop_training:
            return writer.step
    return None


@pytest.mark.parametrize(
    ("metric", "values", "stopped", "best"),
    [
        # An equal value is not better.
        ("val_loss", [5.0, 4.0, 4.0, 4.5, 3.0], 12, (6, 4.0)),
        ("val_f1", [0.5, 0.25, 0.5, 0.75], 9, (3, 0.5)),
        ("val_f1", [0.5, 0.25, 0.75, 0.5, 0.875], None, (15, 0.875)),
        # NaN is never the best, first or later.
        ("val_f1", [NAN, 0.25, NAN, 0.125], 12, (6, 0.25)),
        ("val_loss", [NAN, NAN, 1.0], 6, None),
    ],
)
def test_patience_ends_a_training_without_a_new_best(metric, values, stopped, best):
    lines = []
    writer, folder = make_writer(lines=lines, best_metric=metric, patience=2)
    assert run_until_stopped(writer, values) == stopped
    kept = folder.calls[-1][1]
    assert (kept and kept[:2]) == best
    assert len(lines) == (stopped is not None)


def test_patience_continues_in_a_resumed_run():
    writer, folder = make_writer(patience=3)
    assert run_until_stopped(writer, [2.0, 2.5]) is None
    state, lines = folder.calls[-1][3], []
    best = {"step": 3, "value": 2.0, "loss": 2.0}
    assert (state["num_worse"], state["best"]) == (1, best)
    writer, _ = make_writer(initial_step=6, lines=lines, state=state, patience=3)
    assert run_until_stopped(writer, [2.25, 2.75, 1.0]) == 12
    assert lines == [
        "No better val_loss than 2 of step 3 in 3 evaluations: stopped early at step 12."
    ]


def test_metric_that_is_not_measured_is_an_error():
    writer, _ = make_writer(best_metric="val_accuracy")
    run_epoch(writer, 3, {"loss": 1.0})
    with pytest.raises(ValueError, match="one of val_loss. Received: .*val_accuracy"):
        run_epoch(writer, 3, {"loss": 1.0, "val_loss": 1.0})


def test_signal_is_obeyed_after_the_step():
    lines = []
    with StopSignals() as signals:
        writer, folder = make_writer(signals, lines=lines)
        writer.set_params({"steps": 5})
        writer.on_epoch_begin(0)
        writer.on_train_batch_end(0, {})
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(SystemExit):
            writer.on_train_batch_end(1, {})
    assert folder.steps() == [(2, True)]
    (line,) = lines
    assert line.startswith("Stopped by SIGTERM at step 2.")


def test_signal_in_the_last_step_waits_for_the_evaluation():
    with StopSignals() as signals:
        writer, folder = make_writer(signals)
        writer.set_params({"steps": 1})
        writer.on_epoch_begin(0)
        signal.raise_signal(signal.SIGINT)
        writer.on_train_batch_end(0, {})
        assert folder.calls == []
        with pytest.raises(KeyboardInterrupt):
            writer.on_epoch_end(0, {"val_loss": 1.0})
    assert folder.steps() == [(1, False)]
