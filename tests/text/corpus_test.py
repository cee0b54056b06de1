"""Corpora: their files, and each document once and in order, for any size of parts."""

import collections
import gzip
import json
import os
import pickle
import random
import re

import pytest

from albert_keras.system.fingerprints import fingerprint_file
from albert_keras.text.corpus import File, find_files, open_corpus, read_documents

TWO_DOCUMENTS = "It rains.\nIt pours.\n\n\n  The sun is out. \n"
EXPECTED = [["It rains.", "It pours."], ["The sun is out."]]


def write(path, content="text"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_all(corpus):
    """Reads all parts with a pickled copy of the corpus, as workers do."""
    counts = collections.Counter()
    corpus = pickle.loads(pickle.dumps(corpus))  # noqa: S301
    documents = [d for part in corpus.parts for d in corpus.read(part, counts)]
    return documents, counts


# === Each document once ===

LINE_ENDS = ["\n", "\n\n", "\r\n", "\r\n\r\n", " \n", "\u3000\n", "\x1c\n"]
WORDS = ["a", " ", "two words", "é", "下雨。", "\ufeff", "a long line " * 4]
SNIPPETS = [text.encode() for text in LINE_ENDS + WORDS] + [b"\xff", b"\xe4\xb8"]


def random_text(rng):
    weights = [rng.choice([0, 1, 1, 3, 10]) for _ in SNIPPETS]
    weights[len(LINE_ENDS)] += 1
    return b"".join(rng.choices(SNIPPETS, weights, k=rng.randint(1, 60)))


def lines_of(content):
    """Returns the offset and the stripped text of each line."""
    lines, offset = [], 0
    for line in content.split(b"\n"):
        text = line.decode("utf-8", "replace")
        lines.append(
            (offset, (text if offset else text.removeprefix("\ufeff")).strip())
        )
        offset += len(line) + 1
    return lines if content[-1:] != b"\n" else lines[:-1]


def plain_documents(lines, size):
    """Returns the documents and the number of cuts, by a second implementation."""
    has_blank_line = {offset // size for offset, text in lines if not text}
    num_ranges = lines[-1][0] // size + 1
    begins = set()
    for index in range(1, num_ranges):
        if index - 1 not in has_blank_line:
            begins.add(min(offset for offset, _ in lines if offset >= index * size))
    documents, num_cuts, is_inside = [], 0, False
    for offset, text in lines:
        if text and is_inside and offset not in begins:
            documents[-1].append(text)
        elif text:
            num_cuts += is_inside
            documents.append([text])
        is_inside = bool(text)
    return documents, num_cuts


@pytest.mark.parametrize("seed", range(20))
def test_parts_of_random_texts(tmp_path, seed):
    rng = random.Random(seed)
    for _ in range(20):
        content = random_text(rng)
        size = rng.choice([1, 2, 3, 5, 7, 8, 11, 16, 30, 64, 300])
        lines = lines_of(content)
        documents, num_cuts = plain_documents(lines, size)
        num_replaced = content.decode("utf-8", "replace").count("\ufffd")
        counts = {"cut_documents": num_cuts, "replaced_bytes": num_replaced}
        packed = gzip.compress(content)
        for name, file_content in (("a.txt", content), ("a.txt.gz", packed)):
            path = write(tmp_path / name, file_content)
            if documents:
                corpus = open_corpus(path, errors="replace", part_bytes=size)
                assert read_all(corpus) == (documents, collections.Counter(counts))


@pytest.mark.parametrize("seed", range(5))
def test_parts_of_random_jsonl(tmp_path, seed):
    rng = random.Random(seed)
    texts = ["x" * rng.choice([1, 2, 5, 30, 200]) + " é😀" for _ in range(50)]
    lines = [json.dumps({"text": t}, ensure_ascii=rng.random() < 0.5) for t in texts]
    ends = [rng.choice(["\n", "\r\n", "\n\n"]) for _ in texts[1:]] + [""]
    content = "".join(line + end for line, end in zip(lines, ends, strict=True))
    path = write(tmp_path / "a.jsonl", content)
    for size in (1, 3, 17, 40, 230, 1000, 2**21):
        corpus = open_corpus(path, part_bytes=size)
        assert read_all(corpus) == ([[text] for text in texts], {})


def test_parts_of_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    texts = [f"text {number}" for number in range(101)]
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"number": range(101), "body": texts})
    pytest.importorskip("pyarrow.parquet").write_table(table, path, row_group_size=7)
    for size in (29, 300, 2**21):
        corpus = open_corpus(path, text_column="body", part_bytes=size)
        assert read_all(corpus)[0] == [[text] for text in texts]


@pytest.mark.parametrize("size", [1, 5, 30, 2**21])
def test_parts_of_documents_in_memory(size):
    documents = [["x" * n, " y "] for n in range(1, 9)] + [["end"]]
    corpus = open_corpus(documents, part_bytes=size)
    assert read_all(corpus) == (documents, {})
    assert corpus.num_bytes == sum(range(1, 9)) + 3 * 9
    assert len(corpus.parts) == {1: 9, 5: 8, 30: 3}.get(size, 1)


# === Parts ===


def test_small_files_share_a_part(tmp_path):
    for number in range(300):
        write(tmp_path / f"{number:03}.txt", f"Document {number}.")
    corpus = open_corpus(tmp_path, part_bytes=2**17)
    assert len(corpus.parts) == 3
    expected = [[f"Document {number}."] for number in range(300)]
    assert read_all(corpus) == (expected, {})


# === Which corpus it is ===


def fingerprint(sources, **options):
    corpus = open_corpus(sources, **options)
    return corpus.fingerprint(corpus.file_fingerprints())


def test_fingerprint_changes_with_the_files(tmp_path):
    path = write(tmp_path / "a.txt", TWO_DOCUMENTS)
    corpus = open_corpus(path)
    assert open_corpus(corpus) is corpus
    before, (file,) = fingerprint(path), corpus.file_fingerprints()
    assert file == [str(path), fingerprint_file(path)]
    options = [
        {"errors": "replace"},
        {"text_column": "body"},
        {"part_bytes": 99},
        {"format": "jsonl"},
    ]
    assert before not in [fingerprint(path, **option) for option in options]
    # Of content alone, not of path and time.
    os.utime(path, ns=(0, 7))
    moved = path.rename(tmp_path / "b.txt")
    assert fingerprint(moved) == before
    write(moved, TWO_DOCUMENTS.upper())
    assert fingerprint(moved) != before


# === Bad input ===


def test_invalid_arguments(tmp_path):
    path = write(tmp_path / "a.txt", "text")
    message = "must be one of text, jsonl, parquet. Received: format='csv'"
    with pytest.raises(ValueError, match=message):
        read_documents(path, format="csv")
    with pytest.raises(ValueError, match="strict, replace. Received: errors='ignore'"):
        open_corpus(path, errors="ignore")
    with pytest.raises(TypeError, match=r"Received: 7 \(of type int\)"):
        open_corpus(7)
    with pytest.raises(TypeError, match="list of documents. Received: <generator"):
        open_corpus(document for document in EXPECTED)


def test_invalid_documents():
    for wrong in ("corpus.txt", ["One.", 7]):
        message = f"list of sentences, .* Received: {re.escape(repr(wrong))}"
        with pytest.raises(TypeError, match=message):
            open_corpus([["One.", "Two."], wrong])
    for documents in ([], [[]], [[""], []]):
        with pytest.raises(ValueError, match="hold a document. Received: documents, "):
            open_corpus(documents)


def test_empty_files(tmp_path):
    message = (
        r"hold a document. Received: '.*a.txt', '.*b.jsonl', '.*c.txt', ..., empty"
    )
    files = [write(tmp_path / n, "") for n in ("a.txt", "b.jsonl", "c.txt", "d.txt")]
    with pytest.raises(ValueError, match=message):
        open_corpus(files)
    write(tmp_path / "d.txt", "\n \n")
    assert read_all(open_corpus(files)) == ([], {})
    assert list(read_documents(files)) == []
    write(tmp_path / "d.txt", "text")
    assert list(read_documents(files)) == [["text"]]


# === One document after the other ===


def test_documents_are_streamed(tmp_path):
    write(tmp_path / "1.txt", "good")
    write(tmp_path / "2.jsonl", "bad")
    documents = read_documents(tmp_path)
    assert next(documents) == ["good"]
    with pytest.raises(ValueError, match="2.jsonl', line 1"):
        next(documents)


# === Finding files and cutting them into pieces ===


@pytest.fixture
def folder(tmp_path):
    for name in ("b.txt", "a/x.jsonl", "c.jsonl.gz", "a/y.parquet", "a/x.txt.gz"):
        write(tmp_path / name)
    for name in ("README", "a/.txt.swp", "tokens.txt~", "z.gz"):
        write(tmp_path / name)
    (tmp_path / "folder.txt").mkdir()
    return tmp_path


def names(files, folder):
    return [os.path.relpath(file.path, folder) for file in files]


def test_folder(folder):
    files = find_files(folder)
    formats = [file.format for file in files]
    assert dict(zip(names(files, folder), formats, strict=True)) == {
        "a/x.jsonl": "jsonl",
        "a/x.txt.gz": "text",
        "a/y.parquet": "parquet",
        "b.txt": "text",
        "c.jsonl.gz": "jsonl",
    }
    assert names(files, folder) == sorted(names(files, folder))


def test_glob_file_and_format(folder):
    found = find_files(f"{folder}/**/*.jsonl*")
    assert names(found, folder) == ["a/x.jsonl", "c.jsonl.gz"]
    (readme,) = find_files(folder / "README", "jsonl")
    assert readme == File(str(folder / "README"), "jsonl", 4)


def test_missing_files_and_unknown_suffixes(tmp_path):
    with pytest.raises(FileNotFoundError, match="glob pattern. .*'.*nowhere.txt'"):
        read_documents(tmp_path / "nowhere.txt")
    message = "folder with .txt, .txt.gz, .jsonl, .jsonl.gz, .parquet files. Received: "
    for source in (str(tmp_path), ""):
        with pytest.raises(FileNotFoundError, match=f"{message}'{source}'"):
            find_files(source)
    message = r"one of .txt, .*, .parquet\. Received: '.*a.tokens'. Pass `format`, one"
    with pytest.raises(ValueError, match=message):
        find_files(write(tmp_path / "a.tokens"))
