"""State files: whole, ordered, strict."""

import keras
import numpy as np
import pytest

from albert_keras.training.checkpoints import (
    list_checkpoint_files,
    restore_checkpoint_file,
    save_checkpoint_file,
)


def make_model(units=5, seed=1):
    keras.utils.set_random_seed(seed)
    layers = [keras.layers.Dense(units), keras.layers.Dropout(0.5)]
    model = keras.Sequential([keras.Input((3,)), *layers])
    model.compile("adam", "mse")
    model.fit(np.ones((7, 3)), np.ones((7, units)), verbose=0)
    return model


def test_everything_that_matters_comes_back(tmp_path):
    model, other = make_model(seed=1), make_model(seed=2)
    save_checkpoint_file(tmp_path, model, step=41, keep=3)
    (path,) = list_checkpoint_files(tmp_path)
    assert restore_checkpoint_file(path, other) == 41
    kept = [*model.trainable_variables, *model.optimizer.variables]
    restored = [*other.trainable_variables, *other.optimizer.variables]
    for a, b in zip(kept, restored, strict=True):
        assert np.array_equal(np.asarray(a.value), np.asarray(b.value))
    # The dropout seed too, which Keras' own weight files leave out.
    x = np.ones((2, 3), "float32")
    assert np.array_equal(model(x, training=True), other(x, training=True))


def test_only_the_newest_stay(tmp_path):
    model = make_model()
    for step in (9, 100, 23, 1000):
        save_checkpoint_file(tmp_path, model, step, keep=2)
    names = [path.name for path in list_checkpoint_files(tmp_path)]
    assert names == ["step-00000100.npz", "step-00001000.npz"]


def test_interrupted_writing_leaves_no_file(tmp_path, monkeypatch):
    model = make_model()

    def full_disk(file, **arrays):
        file.write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint_file(tmp_path, model, 1, keep=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [0, 100, -1])
def test_damaged_file_is_named(tmp_path, size):
    model = make_model()
    save_checkpoint_file(tmp_path, model, 7, keep=1)
    (path,) = list_checkpoint_files(tmp_path)
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match="cannot be read. Received: .*step-00000007"):
        restore_checkpoint_file(path, model)


def test_state_of_another_model_is_refused(tmp_path):
    save_checkpoint_file(tmp_path, make_model(units=5), 7, keep=1)
    (path,) = list_checkpoint_files(tmp_path)
    with pytest.raises(ValueError, match="another model or optimizer"):
        restore_checkpoint_file(path, make_model(units=4))
