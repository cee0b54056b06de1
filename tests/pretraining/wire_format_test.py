"""Protocol buffer bytes: golden examples of the specification, and every boundary."""

import numpy as np

from albert_keras.pretraining.wire_format import delimited, floats, text, varints


def split(messages):
    blob, ends = messages.to_bytes()
    assert messages.lengths.tolist() == np.diff(ends, prepend=0).tolist()
    return [blob[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def varint(value):
    """The definition, one number at a time."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def test_examples_of_the_specification():
    assert split(varints(np.array([[150], [1]]))) == [b"\x96\x01", b"\x01"]
    testing = bytes.fromhex("120774657374696e67")
    assert split(delimited(2, text("testing", 3))) == [testing] * 3
    packed = varints(np.array([[3, 270, 86942]], np.int32))
    assert split(delimited(6, packed)) == [bytes.fromhex("3206038e029ea705")]
    assert split(floats([[1, -2.5]])) == [bytes.fromhex("0000803f000020c0")]


def test_numbers_at_every_boundary():
    edges = [0, 1, *(1 << 7 * size for size in range(1, 9)), (1 << 63) - 1]
    edges = sorted(
        {edge + step for edge in edges for step in (-1, 0) if edge + step >= 0}
    )
    for largest in range(1, len(edges) + 1):
        values = np.array(edges[:largest])
        encoded = [varint(value) for value in edges[:largest]]
        assert split(varints(values[:, None])) == encoded
        assert split(varints(np.stack([values, values[::-1]]))) == [
            b"".join(encoded),
            b"".join(encoded[::-1]),
        ]
    small = np.array([[0, 127, 128, 16383], [16384, 2097151, 2097152, 2**31 - 1]])
    for dtype in (np.int32, np.uint32, np.int64):
        expected = [b"".join(map(varint, row)) for row in small.tolist()]
        assert split(varints(small.astype(dtype))) == expected


def test_lengths_at_every_boundary():
    for length in (0, 1, 127, 128, 16383, 16384):
        (message,) = split(delimited(1, delimited(2, text("x" * length, 1))))
        inner = b"\x12" + varint(length) + b"x" * length
        assert message == b"\x0a" + varint(len(inner)) + inner
