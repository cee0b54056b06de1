"""Parquet: text columns, ranges of row groups, damaged files."""

import collections

import pytest

from albert_keras.text.formats import Piece, ReadOptions, read_piece

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = ["One. Two.\nThree.", None, "Vier 😀.", "", "五。六。", "Seven.", "Acht."]
DOCUMENTS = [["One.", "Two.", "Three."], ["Vier 😀."], ["五。", "六。"]]
DOCUMENTS += [["Seven."], ["Acht."]]


def write(path, values=ROWS, type=None, name="text"):
    column = pyarrow.array(values, type or pyarrow.string())
    table = pyarrow.table({"id": range(len(values)), name: column})
    parquet.write_table(table, path, row_group_size=2)
    return str(path)


def read(path, start=0, stop=2**40, errors="strict", text_column="text"):
    counts = collections.Counter()
    options = ReadOptions(errors, text_column, 2**21)
    piece = Piece("parquet", path, start, stop)
    return list(read_piece(piece, options, counts)), counts


@pytest.mark.parametrize("type", ["string", "large_string", "binary", "large_binary"])
def test_all_kinds_of_text(tmp_path, type):
    path = write(tmp_path / "a.parquet", type=getattr(pyarrow, type)())
    assert read(path) == (DOCUMENTS, {"empty_documents": 2})


def test_text_that_is_not_utf8(tmp_path):
    rows = [b"One.", b"Two.", b"Three.", b"Four \xff."]
    path = write(tmp_path / "a.parquet", rows, pyarrow.binary())
    with pytest.raises(ValueError, match="a.parquet', row 3, which is not at byte 5"):
        read(path)
    documents, counts = read(path, errors="replace")
    assert documents[3:] == [["Four \ufffd."]]
    assert counts == {"replaced_bytes": 1}


@pytest.mark.parametrize("name", ["body", "id"])
def test_wrong_column(tmp_path, name):
    path = write(tmp_path / "a.parquet", name="title")
    message = (
        rf"column `{name}` of text. .*'.*a.parquet', .* \['title'\].*--text-column"
    )
    with pytest.raises(ValueError, match=message):
        read(path, text_column=name)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b'{"text": "no Parquet"}',
        lambda content: content[:-20],
        lambda content: content[:4] + bytes(700) + content[704:],
    ],
)
def test_damaged_file_is_named(tmp_path, damage):
    path = write(tmp_path / "a.parquet", [f"Text {n}. " * 9 for n in range(23)])
    (tmp_path / "a.parquet").write_bytes(damage((tmp_path / "a.parquet").read_bytes()))
    with pytest.raises(ValueError, match=r"must be whole. Received: '.*a.parquet': "):
        read(path)
