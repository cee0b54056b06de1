"""TFRecord files: bytes equal to TensorFlow's, damage, and the index of runs."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.pretraining.tfrecord import (
    RUN_RECORDS,
    frame_record,
    index_records,
    read_records,
    serialize_columns,
)


@pytest.fixture
def payloads():
    random = np.random.default_rng(0)
    return [random.bytes(size) for size in [0, 1, 300, 7, *random.integers(0, 99, 37)]]


def frame(payloads):
    """Returns the records of payloads, end to end, and the end of each."""
    records = [frame_record(payload) for payload in payloads]
    return b"".join(records), np.cumsum([len(record) for record in records])


def write_with_tensorflow(path, payloads):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for payload in payloads:
            writer.write(payload)
    return path.read_bytes()


def test_frames_equal_tensorflow(tmp_path, payloads):
    blob, ends = frame(payloads)
    assert blob == write_with_tensorflow(tmp_path / "theirs", payloads)
    for number in (1, 30):
        single = write_with_tensorflow(tmp_path / "one", [payloads[number]])
        assert blob[ends[number - 1] : ends[number]] == single


def test_exchange_with_tensorflow(tmp_path, payloads):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(frame(payloads)[0])
    assert [*tf.data.TFRecordDataset(str(path)).as_numpy_iterator()] == payloads
    write_with_tensorflow(path, payloads)
    assert list(read_records(path)) == payloads
    assert index_records(path) == {
        "examples": 41,
        "bytes": path.stat().st_size,
        "run_offsets": [0],
    }


def test_index_of_runs(tmp_path):
    random = np.random.default_rng(1)
    num_records = 3 * RUN_RECORDS + 11
    payloads = [random.bytes(size) for size in random.integers(0, 5, num_records)]
    path = tmp_path / "a.tfrecord"
    path.write_bytes(frame(payloads)[0])
    sizes = np.cumsum([16 + len(payload) for payload in payloads])
    assert index_records(path) == {
        "examples": num_records,
        "bytes": sizes[-1],
        "run_offsets": [0, *sizes[RUN_RECORDS - 1 :: RUN_RECORDS].tolist()],
    }


def test_empty_file(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.touch()
    assert index_records(path) == {"examples": 0, "bytes": 0, "run_offsets": []}
    assert list(read_records(path)) == []


def test_truncated_and_corrupt_files(tmp_path, payloads):
    path = tmp_path / "a.tfrecord"
    content, ends = frame(payloads)
    broken = "must be whole. Received: '.*a.tfrecord', truncated or corrupt at byte"
    for size in (len(content) - 3, ends[20] + 5):
        path.write_bytes(content[:size])
        start = ends[np.searchsorted(ends, size) - 1]
        for read in (index_records, lambda path: list(read_records(path))):
            with pytest.raises(ValueError, match=f"{broken} {start}. Copy or write"):
                read(path)
    for position in (ends[1], ends[1] + 9):
        path.write_bytes(content[:position] + b"?" + content[position + 1 :])
        with pytest.raises(ValueError, match=f"{broken} {ends[1]}. "):
            index_records(path)
    position = ends[1] + 12
    path.write_bytes(content[:position] + b"?" + content[position + 1 :])
    records = read_records(path)
    assert [next(records), next(records)] == payloads[:2]
    with pytest.raises(ValueError, match=f"{broken} {ends[1]}. "):
        next(records)
    # The index does not read payloads.
    assert index_records(path)["examples"] == len(payloads)


def serialize(values):
    """Returns the bytes of each message with one feature `a`."""
    return serialize_columns({"a": np.asarray(values)})


def varint(value):
    """Returns the bytes of one number, by the definition."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def integers_message(values):
    """Returns `Example(features={"a": Int64List(values)})`, by the definition."""

    def field(number, content):
        return bytes([number << 3 | 2]) + varint(len(content)) + content

    packed = b"".join(map(varint, values))
    feature = field(3, field(1, packed))
    return field(1, field(1, field(1, b"a") + field(2, feature)))


def test_golden_message():
    (message,) = serialize(np.array([[3, 270, 86942]], np.int32))
    # The list is the packed example of the encoding's specification.
    assert message.hex() == "0a110a0f0a0161120a1a080a06038e029ea705"
    (message,) = serialize(np.array([[1, -2.5]], np.float32))
    assert message.endswith(bytes.fromhex("0000803f000020c0"))


def test_integers_at_every_boundary():
    edges = [0, 1, *(1 << 7 * size for size in range(1, 9)), (1 << 63) - 1]
    edges = sorted(
        {edge + step for edge in edges for step in (-1, 0) if edge + step >= 0}
    )
    for largest in range(1, len(edges) + 1):
        values = np.array(edges[:largest])
        expected = [integers_message([value]) for value in edges[:largest]]
        assert serialize(values) == expected
        rows = [edges[:largest], edges[:largest][::-1]]
        assert serialize(rows) == [integers_message(row) for row in rows]
    small = np.array([[0, 127, 128, 16383], [16384, 2097151, 2097152, 2**31 - 1]])
    for dtype in (np.int32, np.uint32, np.int64):
        expected = [integers_message(row) for row in small.tolist()]
        assert serialize(small.astype(dtype)) == expected


@pytest.mark.parametrize("length", [0, 1, 117, 118, 127, 128, 16383, 16384])
def test_lengths_at_every_boundary(length):
    assert serialize(np.ones((2, length), int)) == [integers_message([1] * length)] * 2
