"""TensorFlow's checkpoints: intact and damaged."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.converters.tensorflow_file import read_tensorflow, write_tensorflow

ARRAYS = {
    "a/kernel": np.arange(15, dtype="float32").reshape(3, 5),
    "a/bias": np.ones(7, "float32"),
    # First in the file, which then ends in a weight.
    "0_step": np.int64(5),
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "whole").mkdir()
    write_tensorflow(tmp_path / "whole" / "model.ckpt", ARRAYS)
    return tmp_path / "whole"


def test_variables_are_read_by_name(folder):
    tensors = read_tensorflow(folder / "model.ckpt")
    assert tensors.shapes == {"a/kernel": (3, 5), "a/bias": (7,), "0_step": ()}
    assert (tensors.read("a/kernel") == ARRAYS["a/kernel"]).all()


def test_variables_by_object_have_their_graph_names(tmp_path):
    module = tf.Module()
    module.inner = [tf.Variable([1.0, 2.0], name="scope/name")]
    tf.train.Checkpoint(root=module).write(str(tmp_path / "model.ckpt"))
    tensors = read_tensorflow(tmp_path / "model.ckpt")
    assert tensors.shapes["scope/name"] == (2,)
    assert tensors.read("scope/name").tolist() == [1.0, 2.0]


def test_checkpoint_files_naming_other_folders_are_not_followed(folder, tmp_path):
    write_tensorflow(tmp_path / "secret.ckpt", {"a/bias": np.full(7, 42.0, "float32")})
    (folder / "model.ckpt").mkdir()
    (folder / "model.ckpt" / "checkpoint").write_text(
        f'model_checkpoint_path: "{tmp_path}/secret.ckpt"'
    )
    assert read_tensorflow(folder / "model.ckpt").read("a/bias").tolist() == [1.0] * 7
