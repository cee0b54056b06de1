"""Reading documents: formats, places, and what is said about a bad file."""

import json

import numpy as np
import pytest

from albert_keras.data.documents import read_documents, tokenize_documents
from albert_keras.tokenizers import AlbertTokenizer

TWO_DOCUMENTS = "It rains.\nIt pours.\n\n\n  The sun is out. \n"
EXPECTED = [["It rains.", "It pours."], ["The sun is out."]]


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("content", [TWO_DOCUMENTS, TWO_DOCUMENTS.rstrip()])
def test_plain_text(tmp_path, content):
    assert list(read_documents(write(tmp_path / "a.txt", content))) == EXPECTED


def test_windows_line_ends_and_byte_order_mark(tmp_path):
    content = b"\xef\xbb\xbf" + TWO_DOCUMENTS.replace("\n", "\r\n").encode()
    assert list(read_documents(write(tmp_path / "a.txt", content))) == EXPECTED


def test_jsonl_splits_paragraphs_and_sentences(tmp_path):
    lines = [
        {"id": 7, "text": "Head\nOne. Two.\n\nThree."},
        {"text": " \n "},
        {"text": "下雨。停了。"},
    ]
    content = "\n\n".join(json.dumps(line) for line in lines)
    assert list(read_documents(write(tmp_path / "a.jsonl", content))) == [
        ["Head", "One.", "Two.", "Three."],
        ["下雨。", "停了。"],
    ]


def test_folder_glob_list_and_format(tmp_path):
    write(tmp_path / "b.txt", "second")
    write(tmp_path / "a" / "x.jsonl", '{"text": "first"}')
    write(tmp_path / "README", "not read")
    first, second, third = [["first"]], [["second"]], [["not read"]]
    assert list(read_documents(tmp_path)) == first + second
    assert list(read_documents(f"{tmp_path}/**/*.jsonl")) == first
    files = [tmp_path / "README", str(tmp_path / "b.txt")]
    assert list(read_documents(files, format="text")) == third + second


def test_documents_are_streamed(tmp_path):
    write(tmp_path / "1.txt", "good")
    write(tmp_path / "2.jsonl", "bad")
    documents = read_documents(tmp_path)
    assert next(documents) == ["good"]
    with pytest.raises(ValueError, match="2.jsonl', line 1"):
        next(documents)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"\n \n", "corpus must hold a document. Received: '.*a.txt', empty"),
        ("a.txt", b"abc\nde\xff", "must be UTF-8. Received: '.*a.txt', .* at byte 6"),
        (
            "a.jsonl",
            b'{"text": "a"}\n{"te',
            r"JSON object. .*'.*a.jsonl', line 2: Unterm",
        ),
        ("a.jsonl", b'{"title": "a", "n": 1}', r"line 1: \['n', 'title'\]"),
        ("a.jsonl", b'\n{"text": 5}', r"a string `text`. .*line 2: \['text'\]"),
        ("a.jsonl", b"[3]", r"a JSON object. .*line 1: \[3\]"),
    ],
)
def test_bad_content(tmp_path, name, content, message):
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=message):
        list(read_documents(path))


def test_bad_requests_are_refused_at_once(tmp_path):
    path = write(tmp_path / "a.tokens", "text")
    with pytest.raises(FileNotFoundError, match="glob pattern. .*'.*nowhere.txt'"):
        read_documents(tmp_path / "nowhere.txt")
    with pytest.raises(FileNotFoundError, match=r"folder with .txt, .jsonl files"):
        read_documents([tmp_path])
    with pytest.raises(
        ValueError, match=r"one of .txt, .jsonl .*'.*a.tokens'.*`format`"
    ):
        read_documents(path)
    with pytest.raises(
        ValueError, match=r"\['jsonl', 'text'\]. Received: format='csv'"
    ):
        read_documents(path, format="csv")


def test_tokenizing_keeps_sentences_apart(shared):
    tokenizer = AlbertTokenizer(str(shared / "data/tokenizers/30k-clean.model"))
    documents = [["this is a test", " ", "a test"], [" "], ["test"]]
    first, empty, last = tokenize_documents(documents, tokenizer)
    np.testing.assert_array_equal(first.token_ids, [48, 25, 21, 1289, 21, 1289])
    np.testing.assert_array_equal(first.sentence_offsets, [0, 4, 6])
    np.testing.assert_array_equal(first.tokens(1, 2), [21, 1289])
    assert (first.num_sentences, empty.num_sentences, last.num_sentences) == (2, 0, 1)
