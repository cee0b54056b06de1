"""Checkpoints: complete, ordered, robust to damage, and when they are written."""

import errno
import json
import pathlib
import random
import shutil
import signal

import keras
import numpy as np
import pytest

from albert_keras.system.signals import StopSignals
from albert_keras.training import TrainerConfig
from albert_keras.training.checkpoint_writer import CheckpointWriter
from albert_keras.training.checkpoints import (
    Best,
    Checkpoint,
    CheckpointFolder,
    DamagedCheckpointError,
    named_arrays,
    restore_checkpoint,
    write_checkpoint,
)


def make_model(units=5, seed=1):
    keras.utils.set_random_seed(seed)
    layers = [keras.layers.Dense(units), keras.layers.Dropout(0.5)]
    model = keras.Sequential([keras.Input((3,)), *layers])
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(np.ones((7, 3)), np.ones((7, units)), verbose=0)
    return model


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.fixture(scope="module")
def second_model():
    return make_model(seed=2)


@pytest.fixture
def other(second_model):
    """A model like `model`, of other values."""
    for variable in second_model.trainable_variables:
        variable.assign(variable + 1.0)
    return second_model


def is_equal(arrays, others):
    return arrays.keys() == others.keys() and all(
        np.array_equal(value, others[name]) for name, value in arrays.items()
    )


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_whole_state_is_restored(tmp_path, model, other):
    path = tmp_path / "step-00000041.npz"
    state = {"log": {"sums": {"loss": 1 / 3}}, "empty": None}
    write_checkpoint(path, model, 41, state)
    assert not is_equal(named_arrays(model), named_arrays(other))
    checkpoint = restore_checkpoint(path, other)
    assert checkpoint.step == 41
    assert checkpoint.state == state
    assert is_equal(named_arrays(model), named_arrays(other))
    # The dropout seed too, which Keras' own weight files leave out.
    x = np.ones((2, 3), "float32")
    assert np.array_equal(model(x, training=True), other(x, training=True))


def test_newest_and_best_stay(tmp_path, model):
    folder = CheckpointFolder(tmp_path, keep=2)
    best = {9: Best(9, 5.0), 23: Best(23, 4.0, 0.5)}
    for step in (9, 23, 100, 500, 100_000_000):
        folder.save(model, step, best=best.get(step, best[23]))
    steps = ("00000023", "00000500", "100000000")
    assert [path.name for path in folder.files()] == [f"step-{s}.npz" for s in steps]
    marked = json.loads((tmp_path / "best.json").read_text())
    kept = {"step": 23, "value": 4.0, "loss": 0.5}
    assert marked == {**kept, "file": "step-00000023.npz"}
    assert len(names_in(tmp_path)) == 4


def damaged(content, chance):
    """Yields contents that are cut, or of which a bit is flipped."""
    for size in (0, 100, len(content) // 2, len(content) - 1):
        yield content[:size]
    for _ in range(300):
        flipped = bytearray(content)
        flipped[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        yield bytes(flipped)


def test_any_damage_is_found_or_harmless(tmp_path, model, other):
    path = tmp_path / "step-00000007.npz"
    write_checkpoint(path, model, 7, {"log": {"seconds": 2.5}})
    expected, intact = named_arrays(model), restore_checkpoint(path, model)
    num_found = 0
    for content in damaged(path.read_bytes(), random.Random(5)):
        path.write_bytes(content)
        before = named_arrays(other)
        try:
            checkpoint = restore_checkpoint(path, other)
        except DamagedCheckpointError:
            num_found += 1
            # Nothing was loaded by halves.
            assert is_equal(named_arrays(other), before)
        else:
            # A time stamp in the zip file, or the like.
            assert is_equal(named_arrays(other), expected)
            assert checkpoint == intact
    assert num_found > 200


def test_compressed_arrays_are_refused(tmp_path, model):
    write_checkpoint(tmp_path / "step-00000003.npz", model, 3, {})
    with np.load(tmp_path / "step-00000003.npz") as file:
        np.savez_compressed(tmp_path / "step-00000004.npz", **file)
    with pytest.raises(DamagedCheckpointError, match="must not be compressed"):
        restore_checkpoint(tmp_path / "step-00000004.npz", model)


def test_errors_of_the_disk_do_not_mean_damage(tmp_path, model, monkeypatch):
    folder = CheckpointFolder(tmp_path, keep=3)
    folder.save(model, 17)

    def fail(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(pathlib.Path, "open", fail)
    with pytest.raises(OSError, match="Input/output"):
        folder.restore(model, pytest.fail)
    assert names_in(tmp_path) == ["step-00000017.npz"]


def test_the_checkpoint_before_a_damaged_one_is_used(tmp_path, model, other):
    folder = CheckpointFolder(tmp_path, keep=4)
    folder.save(other, 3)
    folder.save(model, 6)
    for step in (9, 12):
        shutil.copy(folder.file(6), folder.file(step))
        folder.file(step).write_bytes(folder.file(6).read_bytes()[: step * 50])
    lines = []
    # Who only reads leaves the files as they are.
    for writes in (False, True):
        reader = CheckpointFolder(tmp_path, keep=4, writes=writes)
        assert reader.restore(other, lines.append).step == 6
        assert is_equal(named_arrays(model), named_arrays(other))
    assert len(lines) == 4
    assert "step-00000012.npz" in lines[0]
    assert all(line.endswith("The checkpoint before it is used.") for line in lines)
    damaged_names = [f"damaged-step-000000{step}.npz" for step in ("09", "12")]
    good = ["step-00000003.npz", "step-00000006.npz"]
    assert names_in(tmp_path) == [*damaged_names, *good]


def test_a_run_with_damaged_checkpoints_only_does_not_start_again(tmp_path, model):
    folder = CheckpointFolder(tmp_path, keep=4)
    for step in (3, 6):
        folder.file(step).write_bytes(b"PK nothing")
    with pytest.raises(DamagedCheckpointError, match="Received: .*step-00000003"):
        folder.restore(model, [].append)
    assert "step-00000003.npz" in names_in(tmp_path)


def test_state_of_another_model_is_refused(tmp_path, model):
    folder = CheckpointFolder(tmp_path, keep=1)
    folder.save(model, 7)
    with pytest.raises(ValueError, match="another model or optimizer"):
        folder.restore(make_model(units=4), pytest.fail)


# === Times of checkpoints, the best one, and signals ===


class Saved:
    """A fake `CheckpointFolder` that records the calls of `save`."""

    def __init__(self):
        self.calls = []

    def save(self, model, step, state, *, best):
        self.calls.append((step, best, state))

    def file(self, step):
        return pathlib.Path(__file__)

    def steps(self):
        return [step for step, *_ in self.calls]


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
    resumed = Checkpoint(initial_step, state or {})
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
    assert folder.steps() == expected
    assert folder.calls[0][2] == {"part": {"known": 7}, "num_worse": 0}


def test_of_equal_values_that_with_the_lower_loss_is_the_best():
    writer, folder = make_writer(best_metric="val_accuracy", patience=3)
    writer.set_model(keras.Model())
    for loss in (0.5, 0.75, 0.25):
        run_epoch(writer, 3, {"val_accuracy": 0.875, "val_loss": loss})
    assert [call[1].step for call in folder.calls] == [3, 3, 9]
    assert folder.calls[-1][2]["best"] == {"step": 9, "value": 0.875, "loss": 0.25}
    # It is no progress for `patience`.
    assert writer.num_worse == 2


@pytest.mark.parametrize(
    ("metric", "values", "stopped", "best"),
    [
        # An equal value is not better.
        ("val_loss", [5.0, 4.0, 4.0, 4.5, 3.0], 12, (6, 4.0)),
        ("val_f1", [0.5, 0.25, 0.75, 0.5, 0.875], None, (15, 0.875)),
        # NaN is never the best, first or later.
        ("val_f1", [np.nan, 0.25, np.nan, 0.125], 12, (6, 0.25)),
        ("val_loss", [np.nan, np.nan, 1.0], 6, None),
    ],
)
def test_patience_ends_a_training_without_a_new_best(metric, values, stopped, best):
    options = {"lines": [], "best_metric": metric, "patience": 2}
    step, state = 0, {}
    for value in values:
        # Resumed after each evaluation.
        writer, folder = make_writer(initial_step=step, state=state, **options)
        writer.set_model(keras.Model())
        run_epoch(writer, 3, {metric: value})
        step, kept, state = json.loads(json.dumps(folder.calls[-1]))
        if options["lines"]:
            break
    assert (step if options["lines"] else None) == stopped
    assert (kept and tuple(kept[:2])) == best
    assert state.get("best") == (kept and Best(*kept)._asdict())


def test_metric_that_is_not_measured_is_an_error():
    writer, _ = make_writer(best_metric="val_accuracy")
    run_epoch(writer, 3, {"loss": 1.0})
    with pytest.raises(ValueError, match="one of val_loss. Received: .*val_accuracy"):
        run_epoch(writer, 3, {"loss": 1.0, "val_loss": 1.0})


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
    assert folder.steps() == [1]
