"""Lines and JSON objects, and where a file is not what it must be."""

import pytest

from albert_keras.data.text_files import json_object, read_lines


def test_lines_keep_their_ends_and_lose_the_byte_order_mark(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffein\r\nzwei\n\n drei".encode())
    assert list(read_lines(path)) == ["ein\r\n", "zwei\n", "\n", " drei"]


def test_byte_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("é\n".encode() + b"caf\xe9\n")
    with pytest.raises(ValueError, match="latin.txt', which is not at byte 6"):
        list(read_lines(path))


@pytest.mark.parametrize("line", ['{"a": 1', "[3]", '"a"', "null"])
def test_only_objects_pass(line):
    with pytest.raises(ValueError, match="a JSON object. Received: 'b.jsonl', line 7"):
        json_object(line, "b.jsonl", 7)
    assert json_object('{"a": [1]}', "b.jsonl", 7) == {"a": [1]}
