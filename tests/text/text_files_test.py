"""Text files: lines, JSON objects, and invalid content."""

import collections
import gzip

import pytest

from albert_keras.text import text_files
from albert_keras.text.text_files import (
    MAX_BYTES,
    Decoding,
    decode,
    json_object,
    open_binary,
    read_lines,
)


@pytest.mark.parametrize(("name", "pack"), [("a.txt", bytes), ("a.gz", gzip.compress)])
def test_lines_keep_their_ends_and_lose_the_byte_order_mark(tmp_path, name, pack):
    path = tmp_path / name
    path.write_bytes(pack("\ufeffein\r\nzwei\n\n drei".encode()))
    assert list(read_lines(path)) == ["ein\r\n", "zwei\n", "\n", " drei"]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [("cp1252", "café\r\n“"), ("gb18030", "你\n好"), ("utf-16", "é\n你")],
)
def test_other_encodings(tmp_path, encoding, text):
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    lines = list(read_lines(path, Decoding(encoding)))
    assert lines == text.splitlines(keepends=True)
    path.write_bytes(b"a\xff")
    assert list(read_lines(path, Decoding("ascii", "replace"))) == ["a\ufffd"]
    assert list(read_lines(path, Decoding(errors="replace"))) == ["a\ufffd"]
    with pytest.raises(ValueError, match="a.txt', which is not ascii: ordinal"):
        list(read_lines(path, Decoding("ascii")))
    with pytest.raises(ValueError, match="Received: encoding='utf-9'"):
        list(read_lines(path, Decoding("utf-9")))


def test_names_of_utf_8_and_long_lines_of_others(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\ntwo".encode())
    for name in ("utf_8", "U8", "UTF-8"):
        assert list(read_lines(path, Decoding(name))) == ["one\n", "two"]
    path.write_bytes("café\nthé vert".encode("cp1252"))
    monkeypatch.setattr(text_files, "MAX_BYTES", 7)
    lines = read_lines(path, Decoding("cp1252"))
    assert next(lines) == "café\n"
    with pytest.raises(ValueError, match="7 characters. .*longer from character 5 on"):
        next(lines)


def test_long_line_is_not_read(tmp_path):
    path = tmp_path / "numbers.txt"
    path.write_bytes(b"one\n" + bytes(MAX_BYTES + 1))
    message = "at most 67108864 bytes. Received: '.*numbers.txt', longer from byte 4 on"
    with pytest.raises(ValueError, match=message):
        list(read_lines(path))
    with pytest.raises(ValueError, match="'a', row 3, with 67108865"):
        decode(bytes(MAX_BYTES + 1), "'a', row 3")


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"text", None])
def test_damaged_archive_is_named(tmp_path, damage):
    path = tmp_path / "a.txt.gz"
    content = bytearray(gzip.compress(b"some text " * 300))
    path.write_bytes(damage(content) if damage else content[:30] + bytes(9))
    message = "must be whole. Received: '.*a.txt.gz'.*compress it again"
    with pytest.raises(ValueError, match=message), open_binary(path) as stream:
        stream.read()


def test_replacements_are_counted():
    counts = collections.Counter()
    # One truncated character, one byte that begins none; one mark that was there.
    content = b"a\xe4\xb8b\xff\xef\xbf\xbd"
    text = decode(content, "'a.txt'", 3, "replace", counts)
    assert text == "a\ufffdb\ufffd\ufffd"
    assert counts == {"replaced_bytes": 2}


@pytest.mark.parametrize(
    "line", ['{"a": 1', "[3]", '"a"', "null", "[" * 10**5, '{"a": ' + "1" * 5000]
)
def test_json_that_is_not_an_object(line):
    with pytest.raises(ValueError, match="a JSON object. Received: 'b.jsonl', line 7"):
        json_object(line, "'b.jsonl', line 7")
    assert json_object('{"a": [1]}', "'b.jsonl', line 7") == {"a": [1]}
