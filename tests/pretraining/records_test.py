"""Record files: the original's format, shards, their index, unexpected content."""

import itertools
import json

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.pretraining.records import (
    FEATURES,
    FILLED_FEATURES,
    Sizes,
    find_shards,
    index_files,
    parse_batch,
    read_description,
    read_sizes,
    serialize_examples,
    shard_path,
    write_description,
    write_shard,
)
from albert_keras.pretraining.tfrecord import RUN_RECORDS, index_records, read_records
from tests.pretraining.record_folders import (
    make_arrays,
    read_examples,
    write_file,
    write_folder,
)

NUM_EXAMPLES = 17
PADDED, FILLED = Sizes(13, 5), Sizes(13, 5, 3)


def serialize_with_tensorflow(example):
    """Returns the bytes of one example as a `tf.train.Example`."""
    message = tf.train.Example()
    for name, feature in (FEATURES | FILLED_FEATURES).items():
        if name in example:
            values = np.ravel(example[name]).tolist()
            entry = message.features.feature[feature.name]
            is_float = feature.dtype == np.float32
            (entry.float_list if is_float else entry.int64_list).value.extend(values)
    # Without `deterministic` the order of the features, so the bytes, may vary.
    return message.SerializeToString(deterministic=True)


def one_by_one(arrays):
    names = list(arrays)
    return [
        dict(zip(names, values, strict=True))
        for values in zip(*arrays.values(), strict=True)
    ]


@pytest.fixture(params=[PADDED, FILLED], ids=["padded", "filled"])
def sizes(request):
    return request.param


@pytest.mark.parametrize(
    "largest", [1, 127, 128, 255, 16_383, 16_384, 30_000, 2**21, 2**31 - 1]
)
def test_bytes_equal_tensorflow(sizes, largest):
    arrays = make_arrays(NUM_EXAMPLES, sizes, seed=largest)
    random = np.random.default_rng(largest)
    for name in ("token_ids", "mask_ids", "mask_positions"):
        shape = arrays[name].shape
        # As many small numbers as large ones.
        values = largest ** random.random(shape)
        arrays[name] = np.minimum(np.rint(values), largest).astype(np.int32)
        arrays[name][1] = largest
        arrays[name][2] = 0
    arrays["mask_weights"] = random.random(arrays["mask_weights"].shape, np.float32)
    expected = [serialize_with_tensorflow(example) for example in one_by_one(arrays)]
    assert serialize_examples({**arrays, "shuffle_key": None}) == expected


@pytest.mark.parametrize("sequence_length", [5, 18, 19, 127, 128, 129, 3000])
def test_bytes_equal_tensorflow_at_all_lengths(sequence_length):
    arrays = make_arrays(3, Sizes(sequence_length, 1))
    expected = [serialize_with_tensorflow(example) for example in one_by_one(arrays)]
    assert serialize_examples(arrays) == expected


def test_no_examples_and_other_types():
    arrays = make_arrays(NUM_EXAMPLES, PADDED)
    expected = serialize_examples(arrays)
    assert len(expected) == NUM_EXAMPLES
    wide = {n: v.astype(np.result_type(v, np.int64)) for n, v in arrays.items()}
    wide["padding_mask"] = arrays["padding_mask"].astype(bool)
    assert serialize_examples(wide) == expected
    nothing = {name: values[:0] for name, values in arrays.items()}
    assert serialize_examples(nothing) == []
    arrays["mask_ids"][3, 2] = -7
    with pytest.raises(ValueError, match="`masked_lm_ids` must not be neg.* -7"):
        serialize_examples(arrays)


def test_round_trip(tmp_path, sizes):
    arrays = make_arrays(NUM_EXAMPLES, sizes)
    path = tmp_path / "a.tfrecord"
    write_file(path, arrays)
    for found, expected in zip(read_examples(path), one_by_one(arrays), strict=True):
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)
            assert found[name].dtype == value.dtype
    records = list(tf.data.TFRecordDataset(str(path)))
    batch = parse_batch(tf.stack(records), sizes)
    assert batch.keys() == arrays.keys()
    for name, values in arrays.items():
        np.testing.assert_array_equal(batch[name], values)
        assert batch[name].dtype == values.dtype


def test_round_trip_of_a_file_of_the_original(tmp_path, shared):
    original = shared / "fixtures/google_pretraining_records.tfrecord"
    examples = list(read_examples(original))
    path = tmp_path / "again.tfrecord"
    write_file(path, {n: np.stack([e[n] for e in examples]) for n in FEATURES})
    pairs = zip(read_records(original), read_records(path), strict=True)
    for theirs, ours in itertools.islice(pairs, 50):
        assert tf.train.Example.FromString(theirs) == tf.train.Example.FromString(ours)


def test_shard_of_several_runs(tmp_path):
    num_examples = 2 * RUN_RECORDS + 11
    examples = serialize_examples(make_arrays(num_examples, Sizes(5, 1)))
    path = tmp_path / "a.tfrecord"
    index = write_shard(path, iter(examples))
    assert index == index_records(path)
    assert (index["examples"], len(index["run_offsets"])) == (num_examples, 3)
    assert list(read_records(path)) == examples
    assert write_shard(path, []) == {"examples": 0, "bytes": 0, "run_offsets": []}


def test_interrupted_write_leaves_nothing(tmp_path):
    def fail():
        yield from serialize_examples(make_arrays(NUM_EXAMPLES, PADDED))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shard(tmp_path / "a.tfrecord", fail())
    assert list(tmp_path.iterdir()) == []


def test_files_with_other_records(tmp_path):
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(b"\xff not a message")
    with pytest.raises(ValueError, match="input_ids, .*'.*a.tfrecord', with none"):
        read_sizes(path)
    example = tf.train.Example()
    example.features.feature["image"].int64_list.value.append(3)
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(example.SerializeToString())
    with pytest.raises(ValueError, match="'.*a.tfrecord', with image"):
        read_sizes(path)


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
    write_description(tmp_path, {"sequence_length": 13})
    assert read_description(tmp_path) == {"sequence_length": 13}


@pytest.mark.parametrize(
    "description",
    [
        {"shards": []},
        {"shards": {"a": {"examples": 3}}},
        {"shards": {"a": {"examples": 3, "bytes": "5", "run_offsets": [0]}}},
        {"sequence_length": -13},
        {"config": 5},
        {"kind": "tokens"},
    ],
    ids=str,
)
def test_descriptions_of_another_form_are_refused(description, tmp_path):
    write_description(tmp_path, description)
    with pytest.raises(ValueError, match=r"must be .* Received: .*dataset.json"):
        read_description(tmp_path)


# === Index ===

INDEXED, ANY = Sizes(11, 3), Sizes(None, None, None)
NUM_INDEXED = 2 * RUN_RECORDS + 50


@pytest.fixture
def paths(tmp_path):
    bounds = [0, 20, 20, 20 + RUN_RECORDS, NUM_INDEXED]
    return write_folder(tmp_path, make_arrays(NUM_INDEXED, INDEXED), INDEXED, bounds)


def test_index_with_and_without_a_description(paths):
    described = index_files(paths, ANY)
    assert described.num_examples == NUM_INDEXED
    assert described.sizes == INDEXED
    assert described.paths == [str(paths[number]) for number in (0, 2, 3, 3)]
    assert described.counts.tolist() == [20, RUN_RECORDS, RUN_RECORDS, 30]
    assert described.offsets[:3].tolist() == [0, 0, 0]
    (paths[0].parent / "dataset.json").unlink()
    scanned = index_files(paths, ANY)
    assert scanned.paths == described.paths
    assert scanned.sizes == described.sizes
    np.testing.assert_array_equal(scanned.offsets, described.offsets)
    np.testing.assert_array_equal(scanned.counts, described.counts)


def test_described_files_are_not_read(paths):
    expected = index_files(paths, ANY)
    for path in paths:
        path.write_bytes(bytes(path.stat().st_size))
    found = index_files(paths, ANY)
    assert found.paths == expected.paths
    paths[2].write_bytes(b"short")
    size = json.loads((paths[2].parent / "dataset.json").read_text())["shards"]
    size = size[paths[2].name]["bytes"]
    with pytest.raises(
        ValueError,
        match=f"-00002-of-00004.tfrecord' of 5 bytes instead of {size}. Copy",
    ):
        index_files(paths, ANY)


def test_other_sizes_than_the_records(paths, tmp_path):
    assert index_files(paths, INDEXED._replace(max_pairs=None)).sizes == INDEXED
    with pytest.raises(ValueError, match="sequence_length=128, but '.*0-of-.*' has 11"):
        index_files(paths, Sizes(128, None, None))
    with pytest.raises(ValueError, match="max_predictions=20, but '.*' has 3"):
        index_files(paths, Sizes(None, 20, None))
    for name, sizes, message in (
        ("longer", Sizes(12, 3), "sequence_length=11, but '.*longer.*' has 12"),
        ("filled", Sizes(11, 3, 4), "max_pairs=0, but '.*filled.*' has 4"),
    ):
        other = tmp_path / "other" / f"{name}.tfrecord"
        write_file(other, make_arrays(2, sizes))
        assert index_files([other], ANY).sizes == sizes
        with pytest.raises(ValueError, match=message):
            index_files([*paths, other], ANY)


def test_broken_and_empty_files(paths, tmp_path):
    path = tmp_path / "broken.tfrecord"
    content = paths[2].read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(
        ValueError, match="must be whole. Received: '.*broken.tfrecord', truncated"
    ):
        index_files([path], ANY)
    path.write_bytes(b"")
    with pytest.raises(
        ValueError, match="hold a record. Received: '.*broken.*', empty"
    ):
        index_files([path], ANY)
