"""Checkpoint files: complete, ordered, strict, and robust to damage."""

import errno
import json
import pathlib
import random
import shutil

import keras
import numpy as np
import pytest

from albert_keras.training.checkpoints import (
    Best,
    CheckpointFolder,
    DamagedCheckpointError,
    assign_metrics,
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


def fail(line):
    raise AssertionError(line)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_whole_state_is_restored(tmp_path, model, other):
    path = tmp_path / "step-00000041.npz"
    state = {"log": {"sums": {"loss": 1 / 3}}, "empty": None}
    write_checkpoint(path, model, 41, state, with_metrics=True)
    assert not is_equal(named_arrays(model), named_arrays(other))
    checkpoint = restore_checkpoint(path, other)
    assert checkpoint.step == 41
    assert checkpoint.state == state
    assert is_equal(named_arrays(model), named_arrays(other))
    other.reset_metrics()
    assert other.get_metrics_result() != model.get_metrics_result()
    assert assign_metrics(other, checkpoint.metrics)
    assert other.get_metrics_result() == model.get_metrics_result()
    of_two_replicas = [np.tile(values, 2) for values in checkpoint.metrics]
    assert not assign_metrics(other, of_two_replicas)
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


def test_interrupted_writing_leaves_no_file(tmp_path, model, monkeypatch):
    def full_disk(file, **arrays):
        file.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="No space left"):
        CheckpointFolder(tmp_path, keep=1).save(model, 1)
    assert names_in(tmp_path) == []


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
    write_checkpoint(path, model, 7, {"log": {"seconds": 2.5}}, with_metrics=True)
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
            assert checkpoint.state == intact.state
            assert all(map(np.array_equal, checkpoint.metrics, intact.metrics))
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
        folder.restore(make_model(units=4), fail)


def test_workers_other_than_the_chief_do_not_write(tmp_path, model):
    folder = CheckpointFolder(tmp_path / "none", keep=1, writes=False)
    folder.save(model, 7, best=Best(7, 1.0))
    assert folder.restore(model, fail).step == 0
    assert not folder.path.exists()
