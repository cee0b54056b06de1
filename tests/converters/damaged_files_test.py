"""A damaged file of any format is one clear error, or weights like any other."""

import shutil

import h5py
import keras_hub
import numpy as np
import pytest
import safetensors.numpy

from albert_keras.converters import find_checkpoint, load_checkpoint, load_config
from albert_keras.converters.tensorflow_file import read_tensorflow, write_tensorflow
from albert_keras.converters.weight_files import (
    read_hdf5,
    read_pytorch,
    read_safetensors,
)
from albert_keras.models import AlbertBackbone
from tests.helpers import make_config

ARRAYS = {"a/kernel": np.arange(15, dtype="float32").reshape(3, 5), "bias": np.ones(7)}


def error_of(load, path):
    """Returns the message of the clear error that loading gives, or `""`."""
    try:
        load(path)
    except (ValueError, FileNotFoundError) as error:
        return str(error)
    return ""


def check_damage(load, folder, file_name, tmp_path, num_copies=12):
    """Checks that a damaged file never gives anything but one clear error.

    A flipped bit of a weight is a weight like any other where a format has no checksums,
    so that some of the copies may load.

    Args:
        load: Function of a folder.
        folder: path of a whole checkpoint.
        file_name: str. The file in it to damage.
        tmp_path: path where the copies are.
        num_copies: int. Cuts, and as many flipped bits; half of the latter are in the
            first 512 bytes, where formats keep what they say of themselves.
    """
    content = (folder / file_name).read_bytes()
    random = np.random.default_rng(5)
    # A text may end in a new line, which it can do without.
    cuts = np.linspace(0, len(content) - 2, num_copies, dtype=int)
    damaged = [content[:cut] for cut in cuts]
    for number in range(num_copies):
        flipped = bytearray(content)
        end = min(512, len(content)) if number % 2 else len(content)
        flipped[random.integers(0, end)] ^= 1 << random.integers(0, 8)
        damaged.append(flipped)
    for number, new_content in enumerate(damaged):
        copy = tmp_path / f"damaged_{number}"
        shutil.copytree(folder, copy, copy_function=shutil.copyfile)
        (copy / file_name).write_bytes(new_content)
        message = error_of(load, copy)
        assert "Received" in message or (not message and number >= num_copies)
        shutil.rmtree(copy)


@pytest.fixture(scope="module")
def whole(fixtures, tmp_path_factory):
    """Folder with a whole file of each format."""
    folder = tmp_path_factory.mktemp("files") / "whole"
    shutil.copytree(
        fixtures / "hf_shared/pretraining", folder, copy_function=shutil.copyfile
    )
    with h5py.File(folder / "w.h5", "w") as content:
        for name, value in ARRAYS.items():
            content[name] = value
    safetensors.numpy.save_file(ARRAYS, folder / "w.safetensors")
    # First in the file, which then ends in a weight.
    write_tensorflow(folder / "w.ckpt", {"0_step": np.int64(5), **ARRAYS})
    AlbertBackbone(**make_config().to_dict()).save_to_preset(str(folder / "ours"))
    sizes = {k: v for k, v in make_config().to_dict().items() if k in HUB_SIZES}
    backbone = keras_hub.models.AlbertBackbone(**sizes)
    theirs = keras_hub.models.AlbertTextClassifier(backbone, 5)
    theirs.save_to_preset(str(folder / "theirs"))
    return folder


HUB_SIZES = (
    *("vocabulary_size", "num_layers", "num_heads", "embedding_dim", "hidden_dim"),
    *("intermediate_dim", "max_sequence_length"),
)


def all_of(tensors):
    return [tensors.read(name) for name in tensors.shapes]


def theirs(folder):
    return find_checkpoint(folder / "theirs")


def read_head(folder):
    return theirs(folder).head_options(theirs(folder).stated_head)


def read_ours(folder):
    return load_checkpoint(folder / "ours", head=None)


def read_index(folder):
    return all_of(read_tensorflow(folder / "w.ckpt"))


# What reads each file, and how many copies of it are cut and flipped.
READERS = {
    "w.h5": (lambda folder: all_of(read_hdf5(folder / "w.h5")), 12),
    "w.safetensors": (lambda f: all_of(read_safetensors(f / "w.safetensors")), 12),
    "w.ckpt.index": (read_index, 12),
    "w.ckpt.data-00000-of-00001": (read_index, 12),
    "config.json": (load_config, 12),
    "ours/config.json": (read_ours, 12),
    "ours/model.weights.h5": (read_ours, 3),
    "theirs/config.json": (lambda folder: theirs(folder).read_config(), 12),
    "theirs/task.json": (read_head, 12),
    "theirs/task.weights.h5": (lambda folder: all_of(theirs(folder).tensors), 3),
}


# Of a damaged key of `config.json`, a flipped bit makes an unknown one.
@pytest.mark.filterwarnings("ignore:.*has keys that transformers' ALBERT does not read")
@pytest.mark.parametrize("file_name", READERS)
def test_damage_is_one_clear_error(file_name, whole, tmp_path):
    load, num_copies = READERS[file_name]
    check_damage(load, whole, file_name, tmp_path, num_copies)


# Of a flipped bit in the protocol of a pickle.
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("as_archive", [True, False])
def test_damage_of_files_of_pytorch(as_archive, tmp_path):
    torch = pytest.importorskip("torch")
    (tmp_path / "whole").mkdir()
    state = {name: torch.tensor(value) for name, value in ARRAYS.items()}
    path = tmp_path / "whole/w.bin"
    torch.save(state, path, _use_new_zipfile_serialization=as_archive)
    check_damage(
        lambda folder: all_of(read_pytorch(folder / "w.bin")),
        *(path.parent, path.name, tmp_path),
    )
