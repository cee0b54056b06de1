"""TFRecord framing: the same bytes as TensorFlow's, whole files, and where runs begin."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.pretraining.tfrecord import (
    RUN_RECORDS,
    frame_records,
    index_records,
    masked_crc32c,
    read_records,
)


@pytest.fixture
def payloads():
    random = np.random.default_rng(0)
    return [random.bytes(size) for size in [0, 1, 300, 7, *random.integers(0, 99, 37)]]


def frame(payloads):
    return frame_records(b"".join(payloads), np.cumsum([*map(len, payloads)]))


def write_with_tensorflow(path, payloads):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for payload in payloads:
            writer.write(payload)
    return path.read_bytes()


def test_bytes_are_tensorflow_s(tmp_path, payloads):
    blob, ends = frame(payloads)
    assert blob == write_with_tensorflow(tmp_path / "theirs", payloads)
    assert ends[-1] == len(blob)
    for number in (1, 30):
        single = write_with_tensorflow(tmp_path / "one", [payloads[number]])
        assert blob[ends[number - 1] : ends[number]] == single


def test_either_side_reads_the_other_s(tmp_path, payloads):
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


def test_runs_are_found_again(tmp_path):
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


def test_a_file_may_be_empty(tmp_path):
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
            with pytest.raises(ValueError, match=f"{broken} {start}. Write it anew"):
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
    # What no payload was read for cannot be told.
    assert index_records(path)["examples"] == len(payloads)


def test_the_checksum_of_crc32c_s_specification():
    """RFC 3720, B.4: thirty-two bytes of zeros have the CRC-32C 0x8a9136aa."""
    crc = 0x8A9136AA
    rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    assert masked_crc32c(bytes(32)) == (rotated + 0xA282EAD8) % 2**32
