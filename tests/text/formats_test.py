"""Readers of text formats: ranges, encodings, long documents."""

import collections
import gzip
import json
import math

import pytest

from albert_keras.text.formats import (
    DOCUMENT_CHARACTERS,
    Piece,
    ReadOptions,
    cut_document,
    read_piece,
)

STRICT = ReadOptions("strict", "text", 2**21)


def read(format, source, start=0, stop=math.inf, options=STRICT):
    counts = collections.Counter()
    return list(read_piece(Piece(format, source, start, stop), options, counts)), counts


def joined(lists):
    return [item for one in lists for item in one]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("begin", ["", "\ufeff", "\ufeff\n", " \n\n"])
def test_plain_text(tmp_path, begin, end):
    content = f"{begin}It rains.\nIt pours.\n \n\u3000\n  Das Ende. \n".replace(
        "\n", end
    )
    expected = [["It rains.", "It pours."], ["Das Ende."]]
    for text in (content, content.rstrip()):
        assert read("text", write(tmp_path / "a.txt", text)) == (expected, {})


# Offsets:  a 0, b 3, blank 6, c 7, d 10, blank 13, blank 14, e 15.
TEXT = "aa\nbb\n\ncc\ndd\n\n\nee"


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (18, [[["aa", "bb"], ["cc", "dd"], ["ee"]]]),
        # A document belongs to the range of the blank line before it, and is read to
        # its end in the next; a range that ends with a blank line goes on behind it.
        (10, [[["aa", "bb"], ["cc", "dd"]], [["ee"]]]),
        (7, [[["aa", "bb"], ["cc", "dd"]], [], [["ee"]]]),
        (14, [[["aa", "bb"], ["cc", "dd"]], [["ee"]]]),
        # Bytes 0 to 2 and 3 to 5 have no blank line, so documents are cut behind them,
        # the second time where one ends anyway.
        (3, [[["aa"]], [["bb"]], [["cc", "dd"]], [], [["ee"]], []]),
    ],
)
def test_ranges_of_text(tmp_path, size, expected):
    path = write(tmp_path / "a.txt", TEXT)
    options = STRICT._replace(range_bytes=size)
    starts = range(0, len(TEXT), size)
    ranges = [read("text", path, s, s + size, options)[0] for s in starts]
    assert ranges == expected
    compressed = write(tmp_path / "a.txt.gz", gzip.compress(TEXT.encode()))
    assert read("text", compressed, options=options)[0] == joined(expected)


def test_text_without_blank_lines_is_cut(tmp_path):
    lines = [f"line {number:03}" for number in range(100)]
    path = write(tmp_path / "a.txt", "\n".join(lines))
    options = STRICT._replace(range_bytes=180)
    documents, num_cuts = [], 0
    for start in range(0, 900, 180):
        own, counts = read("text", path, start, start + 180, options)
        assert [len(document) for document in own] == [20]
        documents += own
        num_cuts += counts["cut_documents"]
    assert joined(documents) == lines
    assert num_cuts == 4


def test_line_across_several_ranges(tmp_path):
    path = write(tmp_path / "a.txt", "before\n\n" + "x" * 50 + "\nbehind\n\nlast")
    options = STRICT._replace(range_bytes=10)
    ranges = [read("text", path, s, s + 10, options)[0] for s in range(0, 80, 10)]
    assert ranges[0] == [["before"], ["x" * 50]]
    assert ranges[1:] == [[], [], [], [], [["behind"]], [["last"]], []]


def test_jsonl_splits_paragraphs_and_sentences(tmp_path):
    rows = [
        {"id": 7, "text": "Head\nOne. Two.\n\nThree."},
        {"text": " \n "},
        {"text": None},
        {"text": "下雨。停了。"},
    ]
    path = write(tmp_path / "a.jsonl", "\n\n".join(json.dumps(row) for row in rows))
    expected = [["Head", "One.", "Two.", "Three."], ["下雨。", "停了。"]]
    assert read("jsonl", path) == (expected, {"empty_documents": 2})


def test_jsonl_line_belongs_to_the_range_of_its_start(tmp_path):
    lines = [json.dumps({"text": "x" * size}) + "\n" for size in (1, 40, 2, 3)]
    path = write(tmp_path / "a.jsonl", "".join(lines))
    # They start at bytes 0, 14, 67 and 82.
    pieces = [(0, 14), (14, 15), (15, 67), (67, 83), (83, 99)]
    found = [[len(d[0]) for d in read("jsonl", path, *piece)[0]] for piece in pieces]
    assert found == [[1], [40], [], [2, 3], []]


def test_column_of_the_text(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"text": "no", "body": "yes"}')
    assert read("jsonl", path, options=STRICT._replace(text_column="body"))[0] == [
        ["yes"]
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "a"}\n{"te', r"JSON object. .*'.*a.jsonl', line 2: Unterm"),
        (b'{"title": "a", "n": 1}', r"line 1: \['n', 'title'\].*--text-column"),
        (b'\n{"text": 5}', r"a string `text`. .*line 2: \['text'\]"),
        (b"[3]", "a JSON object. .*line 1, with an array"),
        (b'{"text": "a"}\n\n{"text": "\\ud800"}', r"line 3, with half a surrogate"),
        (b'{"text": "a"}\n{"text": "\xff"}', r"a.jsonl', which is not at byte 24"),
    ],
)
def test_bad_jsonl(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read("jsonl", write(tmp_path / "a.jsonl", content))


def test_text_that_is_not_utf8(tmp_path):
    content = b"abc\nde\xff\n\nbehind \xe4\xb8\nline"
    path = write(tmp_path / "a.txt", content)
    with pytest.raises(
        ValueError, match="must be UTF-8. Received: '.*a.txt', .* byte 6"
    ):
        read("text", path)
    documents, counts = read("text", path, options=STRICT._replace(errors="replace"))
    assert documents == [["abc", "de\ufffd"], ["behind \ufffd", "line"]]
    assert counts == {"replaced_bytes": 2}


def test_memory():
    documents = [["One.", "", "Two."], [], [" "], ["half \ud800"]]
    replacing = STRICT._replace(errors="replace")
    expected = [["One.", "Two."], [" "], ["half \ufffd"]]
    counts = {"empty_documents": 1, "replaced_bytes": 1}
    assert read("memory", documents, options=replacing) == (expected, counts)
    with pytest.raises(ValueError, match="document 14, with half a surrogate pair"):
        read("memory", documents, start=11)


def test_long_documents_are_cut_between_sentences():
    document = ["aaaa", "bbb", "cc", "ddddddd", "e"]
    assert list(cut_document(document, 7)) == [
        ["aaaa", "bbb"],
        ["cc"],
        ["ddddddd"],
        ["e"],
    ]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("one two three", ["one two", "three"]),
        ("one twothree", ["one", "twothre", "e"]),
        ("one\u3000 two x", ["one", "two x"]),
        ("one two three ", ["one two", "three"]),
        ("没有空格的句子很长", ["没有空格的句子", "很长"]),
    ],
)
def test_long_sentence_is_cut_at_white_space(sentence, expected):
    documents = [["before"], *([part] for part in expected)]
    assert list(cut_document(["before", sentence], 7)) == documents


def test_the_longest_document():
    sentences = ["One sentence."] * (DOCUMENT_CHARACTERS // 10)
    words = "word " * (DOCUMENT_CHARACTERS // 3)
    documents, counts = read("memory", [sentences, [words]])
    assert counts == {"cut_documents": 2}
    assert max(sum(map(len, document)) for document in documents) <= DOCUMENT_CHARACTERS
    assert joined(documents[:2]) == sentences
    assert " ".join(joined(documents[2:])).split() == words.split()
