"""Index of record files, and damaged or unexpected files."""

import json

import numpy as np
import pytest

from albert_keras.pretraining.record_index import index_files
from albert_keras.pretraining.records import Sizes
from albert_keras.pretraining.tfrecord import RUN_RECORDS
from tests.pretraining.record_folders import make_arrays, write_file, write_folder

SIZES = Sizes(11, 3)
NUM_EXAMPLES = 2 * RUN_RECORDS + 50


@pytest.fixture
def paths(tmp_path):
    bounds = [0, 20, 20, 20 + RUN_RECORDS, NUM_EXAMPLES]
    return write_folder(tmp_path, make_arrays(NUM_EXAMPLES, SIZES), SIZES, bounds)


def test_index_with_and_without_a_description(paths):
    described = index_files(paths)
    assert described.num_examples == NUM_EXAMPLES
    assert described.sizes == SIZES
    assert described.paths == [str(paths[number]) for number in (0, 2, 3, 3)]
    assert described.counts.tolist() == [20, RUN_RECORDS, RUN_RECORDS, 30]
    assert described.offsets[:3].tolist() == [0, 0, 0]
    (paths[0].parent / "dataset.json").unlink()
    scanned = index_files(paths)
    assert scanned.paths == described.paths
    assert scanned.sizes == described.sizes
    np.testing.assert_array_equal(scanned.offsets, described.offsets)
    np.testing.assert_array_equal(scanned.counts, described.counts)


def test_described_files_are_not_read(paths):
    expected = index_files(paths)
    for path in paths:
        path.write_bytes(bytes(path.stat().st_size))
    found = index_files(paths)
    assert found.paths == expected.paths
    paths[2].write_bytes(b"short")
    size = json.loads((paths[2].parent / "dataset.json").read_text())["shards"]
    size = size[paths[2].name]["bytes"]
    with pytest.raises(
        ValueError,
        match=f"-00002-of-00004.tfrecord' of 5 bytes instead of {size}. Copy",
    ):
        index_files(paths)


def test_other_sizes_than_the_records(paths, tmp_path):
    assert index_files(paths, sequence_length=11, max_predictions=3).sizes == SIZES
    with pytest.raises(ValueError, match="sequence_length=128, but '.*0-of-.*' has 11"):
        index_files(paths, sequence_length=128)
    with pytest.raises(ValueError, match="max_predictions=20, but '.*' has 3"):
        index_files(paths, max_predictions=20)
    for name, sizes, message in (
        ("longer", Sizes(12, 3), "sequence_length=11, but '.*longer.*' has 12"),
        ("filled", Sizes(11, 3, 4), "max_pairs=0, but '.*filled.*' has 4"),
    ):
        other = tmp_path / "other" / f"{name}.tfrecord"
        write_file(other, make_arrays(2, sizes))
        assert index_files([other]).sizes == sizes
        with pytest.raises(ValueError, match=message):
            index_files([*paths, other])


def test_broken_and_empty_files(paths, tmp_path):
    path = tmp_path / "broken.tfrecord"
    content = paths[2].read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(
        ValueError, match="must be whole. Received: '.*broken.tfrecord', truncated"
    ):
        index_files([path])
    path.write_bytes(b"")
    with pytest.raises(
        ValueError, match="hold a record. Received: '.*broken.*', empty"
    ):
        index_files([path])
