"""Record files: the original's format, order, resume, shards, unexpected content."""

import collections
import errno
import itertools

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.pretraining import records
from albert_keras.pretraining.records import (
    RecordStream,
    find_shards,
    shard_path,
    write_records,
)
from albert_keras.pretraining.token_store import write_description
from tests.pretraining.record_folders import (
    make_arrays,
    read_examples,
    rows_of,
    write_folder,
)

BATCH_SIZE, NUM_EXAMPLES = 7, 333


@pytest.mark.parametrize("max_pairs", [0, 3], ids=["padded", "filled"])
def test_round_trip(tmp_path, max_pairs):
    arrays = make_arrays(17, max_pairs)
    path = tmp_path / "a.tfrecord"
    # In groups, as a stream makes them.
    parts = [
        {n: v[begin:end] for n, v in arrays.items()} for begin, end in ((0, 5), (5, 17))
    ]
    write_records(path, iter(parts))
    for found, expected in zip(read_examples(path), rows_of(arrays), strict=True):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)
            assert found[name].dtype == value.dtype


def test_a_file_of_the_original_is_written_as_it_was(tmp_path, shared):
    original = shared / "fixtures/google_pretraining_records.tfrecord"
    examples = read_examples(original)
    path = tmp_path / "again.tfrecord"
    write_records(path, [{n: np.stack([e[n] for e in examples]) for n in examples[0]}])
    files = [
        tf.data.TFRecordDataset(str(p)).as_numpy_iterator() for p in (original, path)
    ]
    for theirs, ours in zip(*files, strict=True):
        assert tf.train.Example.FromString(theirs) == tf.train.Example.FromString(ours)


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def fail():
        yield make_arrays(5)
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        write_records(tmp_path / "a.tfrecord", fail())

    def fill(writer, record):
        raise tf.errors.ResourceExhaustedError(None, None, "no space")

    monkeypatch.setattr(tf.io.TFRecordWriter, "write", fill)
    with pytest.raises(OSError, match="no space: '.*a.tfrecord'") as raised:
        write_records(tmp_path / "a.tfrecord", [make_arrays(5)])
    assert raised.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


# === Order and resume ===


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four files, one of them empty."""
    folder = tmp_path_factory.mktemp("records") / "data"
    write_folder(folder, make_arrays(NUM_EXAMPLES), [0, 30, 100, 100, NUM_EXAMPLES])
    return folder


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr(records, "GROUP_RECORDS", 40)


def open_stream(folder, seed=None):
    return RecordStream(find_shards(folder), seed)


def rows(batches):
    """Returns the token ids of each example as bytes, in order."""
    return [row.tobytes() for batch in batches for row in batch["token_ids"]]


def test_each_epoch_has_every_example_in_another_order(folder):
    expected = rows(open_stream(folder).batches(BATCH_SIZE, stop=NUM_EXAMPLES))
    assert expected == rows([make_arrays(NUM_EXAMPLES)])
    assert open_stream(folder).count_examples() == NUM_EXAMPLES
    found = rows(open_stream(folder, 1).batches(BATCH_SIZE, stop=2 * NUM_EXAMPLES))
    epochs = [found[:NUM_EXAMPLES], found[NUM_EXAMPLES:]]
    for epoch in epochs:
        assert collections.Counter(epoch) == collections.Counter(expected)
        assert np.mean([a == b for a, b in zip(epoch, expected, strict=True)]) < 0.1
    assert np.mean([a == b for a, b in zip(*epochs, strict=True)]) < 0.1


def test_resumed_batches_equal_uninterrupted_ones(folder):
    whole = open_stream(folder, 4).batches(BATCH_SIZE)
    expected = [rows([batch]) for batch in itertools.islice(whole, 140)]
    for step in (0, 1, 13, 47, 48, 96, 129):
        rest = open_stream(folder, 4).batches(BATCH_SIZE, step * BATCH_SIZE)
        found = [rows([batch]) for batch in itertools.islice(rest, 11)]
        assert found == expected[step : step + 11]


def test_empty_batch_has_the_form_of_others(folder):
    stream = open_stream(folder, 0)
    batch, empty = next(stream.batches(7)), stream.empty_batch()
    forms = [{n: (v.shape[1:], v.dtype) for n, v in b.items()} for b in (batch, empty)]
    assert forms[0] == forms[1]
    assert {len(values) for values in empty.values()} == {0}


# === Unexpected content ===


def test_damage_is_found(tmp_path):
    (path,) = write_folder(tmp_path, make_arrays(100), [0, 100])
    content = path.read_bytes()
    message = "^A TFRecord file must be complete, .*'.*0-of-00001.tfrecord': .*again.$"
    for place in (40, 60, len(content) // 2, len(content) - 1):
        changed = bytes([content[place] ^ 1])
        for damaged in (
            content[:place],
            content[:place] + changed + content[place + 1 :],
        ):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=message):
                rows(open_stream(tmp_path).batches(5, stop=100))
    # Whole records of another length.
    path.write_bytes(content)
    other = {
        name: values[:, :3] if values.ndim > 1 else values
        for name, values in make_arrays(5).items()
    }
    write_records(tmp_path / "b.tfrecord", [other])
    with pytest.raises(ValueError, match="of one size. Received: '.*b.tfrecord'"):
        rows(open_stream([path, tmp_path / "b.tfrecord"]).batches(5, stop=105))


def test_other_content(tmp_path):
    path = tmp_path / "a.tfrecord"
    other = tf.train.Example()
    other.features.feature["image"].int64_list.value.append(1)
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(other.SerializeToString())
    with pytest.raises(ValueError, match="input_ids, .*'.*a.tfrecord', with image"):
        open_stream(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="must have a record. Received: '.*', empty"):
        open_stream(path)


def test_find_shards(tmp_path):
    paths = [shard_path(tmp_path, index, 3) for index in range(3)]
    assert paths[1].name == "pretraining-00001-of-00003.tfrecord"
    others = [tmp_path / name for name in (".unfinished.tfrecord", "z.tfrecord")]
    for path in (*reversed(paths), *others):
        path.touch()
    assert find_shards(tmp_path) == [*paths, others[1]]
    # A description names the files.
    shards = {path.name: {"bytes": 0} for path in paths}
    write_description(tmp_path, {"config": {}, "shards": shards})
    assert find_shards(tmp_path) == paths
    assert find_shards(paths[2]) == [paths[2]]
    assert find_shards([paths[2], paths[0]]) == [paths[2], paths[0]]
    paths[1].unlink()
    (tmp_path / "empty").mkdir()
    for source, missing in (
        (tmp_path, "-00001-of-00003.tfrecord"),
        (tmp_path / "nowhere", "nowhere"),
        (tmp_path / "empty", r"empty/\*.tfrecord"),
    ):
        with pytest.raises(FileNotFoundError, match=f"Missing: '.*{missing}'"):
            find_shards(source)
