"""Readers of text formats: encodings, long documents, sentences."""

import collections
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
from albert_keras.text.sentences import split_paragraphs, split_sentences

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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "a"}\n{"te', r"JSON object. .*'.*a.jsonl', line 2: Unterm"),
        (b'{"title": "a", "n": 1}', r"line 1: \['n', 'title'\].*--text-column"),
        (b'\n{"text": 5}', r"a string `text`. .*line 2: \['text'\]"),
        (b"[3]", "a JSON object. .*line 1, with an array"),
        (b'{"text": "a"}\n\n{"text": "\\ud800"}', "UTF-8. .*line 3, which is not"),
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
    # Three bytes of UTF-8.
    expected = [["One.", "Two."], [" "], ["half \ufffd\ufffd\ufffd"]]
    counts = {"empty_documents": 1, "replaced_bytes": 3}
    assert read("memory", documents, options=replacing) == (expected, counts)
    with pytest.raises(ValueError, match="UTF-8. .*document 14, which is not"):
        read("memory", documents, start=11)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("one two three", ["one two", "three"]),
        ("one twothree", ["one two", "three"]),
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


# === Sentence splitting: ends of sentences, and full stops that are not ===


@pytest.mark.parametrize(
    "sentences",
    [
        ["It rains.", "It pours!", "Does it?", "2 days pass."],
        ['He said: "Go!"', '"Why?" she asked.', "(Nobody knew.)", "All left."],
        ["Mr. Smith met Dr. J. R. Jones of the U.S. Army on Jan. 5.", "They spoke."],
        [
            "Prices rose by 3.5 percent at example.com, e.g. Tuesday.",
            "See fig. 2 there.",
        ],
        ["Wait... what is it?", "Well…", "Nothing."],
        ["It may grow to 60 cm ( 24 in ) .", "In life , it is blue ."],
        ["He came at once!?", "“Really?”", "‘Yes.’"],
        ["It cost 3.", "U.S.A. officials paid.", "(“Who?”)", "They."],
        ["No mark at the end"],
    ],
)
def test_joined_sentences_are_split_again(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["今天下雨。", "你去吗？", "不去！", "3天后再说。"],
        ["他说：“走吧！”", "她走了。", "「好。」", "没有句号"],
        ["車站編號為10。", "其中JR貨物會用3.5米的站台。"],
    ],
)
def test_chinese_sentences_need_no_space(sentences):
    assert split_sentences("".join(sentences)) == sentences


def test_a_paragraph_ends_a_sentence():
    text = "A heading\r\n  One.   Two  \n\n \u2028Three goes on\nin a line."
    expected = ["A heading", "One.", "Two", "Three goes on", "in a line."]
    assert split_paragraphs(text) == expected
