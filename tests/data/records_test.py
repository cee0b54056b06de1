"""Record files: the original's format, whole files, and what is said of broken ones."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.data.records import (
    FEATURE_NAMES,
    count_examples,
    find_shards,
    parse_batch,
    read_description,
    read_examples,
    shard_path,
    write_description,
    write_examples,
)

LENGTH, PREDICTIONS = 13, 5


@pytest.fixture
def examples():
    rng = np.random.default_rng(0)
    sizes = {name: LENGTH for name in FEATURE_NAMES}
    sizes |= {name: PREDICTIONS for name in sizes if name.startswith("mask_")}
    made = []
    for _ in range(17):
        example = {n: rng.integers(0, 99, s).astype(np.int32) for n, s in sizes.items()}
        example["mask_weights"] = rng.random(PREDICTIONS).astype(np.float32)
        example["sop_label"] = rng.integers(0, 2)
        made.append({**example, "shuffle_key": 7})
    return made


def check_equal(found, expected):
    assert set(found) == set(FEATURE_NAMES)
    for name in FEATURE_NAMES:
        np.testing.assert_array_equal(found[name], expected[name])


def test_round_trip(tmp_path, examples):
    path = tmp_path / "a.tfrecord"
    assert write_examples(path, examples) == count_examples(path) == 17
    found = list(read_examples(path))
    for example, expected in zip(found, examples, strict=True):
        check_equal(example, expected)
    records = list(tf.data.TFRecordDataset(str(path)))
    batch = parse_batch(tf.stack(records), LENGTH, PREDICTIONS)
    check_equal({name: tensor[11] for name, tensor in batch.items()}, examples[11])
    assert batch["sop_label"].shape == (17,)


def test_files_of_the_original_are_read_and_written_alike(tmp_path, shared):
    original = shared / "fixtures/google_pretraining_records.tfrecord"
    path = tmp_path / "again.tfrecord"
    assert write_examples(path, read_examples(original)) == count_examples(original)
    pairs = tf.data.Dataset.zip(
        tf.data.TFRecordDataset(str(original)), tf.data.TFRecordDataset(str(path))
    )
    for theirs, ours in pairs.take(50).as_numpy_iterator():
        assert tf.train.Example.FromString(theirs) == tf.train.Example.FromString(ours)


def test_an_interrupted_file_leaves_nothing(tmp_path, examples):
    def fail():
        yield from examples
        raise KeyboardInterrupt

    path = tmp_path / "a.tfrecord"
    with pytest.raises(KeyboardInterrupt):
        write_examples(path, fail())
    assert list(tmp_path.iterdir()) == []


def test_truncated_and_corrupt_files(tmp_path, examples):
    path = tmp_path / "a.tfrecord"
    write_examples(path, examples)
    content = path.read_bytes()
    path.write_bytes(content[:-3])
    with pytest.raises(
        ValueError, match=f"a.tfrecord'.* record 17, .*{len(content)} of"
    ):
        count_examples(path)
    with pytest.raises(ValueError, match="must be whole. .*a.tfrecord', truncated"):
        list(read_examples(path))
    path.write_bytes(content[:40] + b"?" + content[41:])
    with pytest.raises(ValueError, match="must be whole. .*a.tfrecord', truncated"):
        list(read_examples(path))


def test_records_of_something_else(tmp_path):
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"\xff not a message")
    with pytest.raises(ValueError, match="input_ids, .*'.*a.tfrecord', with none"):
        next(read_examples(path))
    example = tf.train.Example()
    example.features.feature["image"].int64_list.value.append(3)
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(example.SerializeToString())
    with pytest.raises(ValueError, match="'.*a.tfrecord', with image"):
        next(read_examples(path))


def test_shards_are_found_in_order_and_complete(tmp_path):
    paths = [shard_path(tmp_path, index, 3) for index in range(3)]
    assert paths[1].name == "pretraining-00001-of-00003.tfrecord"
    for path in [*reversed(paths), tmp_path / ".1.unfinished.tfrecord"]:
        path.touch()
    assert find_shards(tmp_path) == paths
    assert find_shards(str(paths[2])) == [paths[2]]
    assert find_shards([paths[2], str(paths[0])]) == [paths[2], paths[0]]
    paths[1].unlink()
    with pytest.raises(
        FileNotFoundError, match="Missing: '.*-00001-of-00003.tfrecord'"
    ):
        find_shards(tmp_path)
    with pytest.raises(FileNotFoundError, match="Missing: '.*nowhere'"):
        find_shards(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="TFRecord files. Received: '.*empty'"):
        find_shards(tmp_path / "empty")


def test_description(tmp_path):
    assert read_description(tmp_path) is None
    write_description(tmp_path, {"sequence_length": LENGTH})
    assert read_description(tmp_path) == {"sequence_length": LENGTH}
