"""Tables: all formats, headers, and invalid content."""

import csv
import gzip
import io
import json

import pytest

from albert_keras.text.tables import DELIMITERS, TABLE_READERS, read_table
from albert_keras.text.text_files import Decoding

# What each format can hold: TSV neither tabs nor line ends.
CELLS = ['She said "no", twice', "a, b 'c", "plain", "naïve 你好", " x ", "1,5", '"']
ROWS = [
    {"text": text, "label": str(number)}
    for number, text in zip((3, 1, 0, 17, 4, 1, 5), CELLS, strict=True)
]


def write(path, content):
    path.write_text(content, "utf-8", newline="")
    return path


def as_tsv(rows):
    lines = ["\t".join(cells) for cells in (rows[0], *map(dict.values, rows))]
    return "\n".join(lines) + "\n"


def as_csv(rows):
    stream = io.StringIO()
    writer = csv.DictWriter(stream, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def as_json_lines(rows):
    numbered = [{**row, "label": int(row["label"])} for row in rows]
    return "\n\n".join(json.dumps(row) for row in numbered)


CONTENTS = {
    ".tsv": as_tsv(ROWS),
    ".txt": as_tsv(ROWS),
    ".csv": as_csv(ROWS),
    ".jsonl": as_json_lines(ROWS),
    ".json": as_json_lines(ROWS),
}


@pytest.mark.parametrize("suffix", list(TABLE_READERS))
def test_formats_hold_the_same_rows(tmp_path, suffix):
    path = write(tmp_path / f"a{suffix}", CONTENTS[suffix])
    assert [row for _, row in read_table(str(path))] == ROWS
    # Editors on Windows write a mark at the beginning and two characters a line's end.
    path = write(path, "\ufeff" + CONTENTS[suffix].replace("\n", "\r\n"))
    assert [row for _, row in read_table(path)] == ROWS
    zipped = tmp_path / f"a{suffix}.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    assert [row for _, row in read_table(zipped)] == ROWS


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_without_a_header_the_first_line_is_a_row(tmp_path, suffix):
    _, _, body = CONTENTS[suffix].partition("\n")
    path = write(tmp_path / f"a{suffix}", body)
    assert [*read_table(path, ("text", "label"))] == [*enumerate(ROWS, start=1)]


def test_line_numbers_and_empty_lines(tmp_path):
    path = write(tmp_path / "a.tsv", "\ntext\tlabel\n\nfine\t1\n\r\nbad\t0")
    numbers, rows = zip(*read_table(path), strict=True)
    assert numbers == (4, 6)
    assert [row["text"] for row in rows] == ["fine", "bad"]
    path = write(tmp_path / "a.csv", 'text,label\n\n"of two\nlines",1\nbad,0\n')
    assert [*read_table(path)] == [
        (3, {"text": "of two\nlines", "label": "1"}),
        (5, {"text": "bad", "label": "0"}),
    ]
    path = write(tmp_path / "a.jsonl", '\n{"text": "fine"}\n \n{"text": "bad"}\n')
    assert [*read_table(path)] == [(2, {"text": "fine"}), (4, {"text": "bad"})]


@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_missing_cells_are_none(tmp_path, suffix):
    content = "text\tlabel\tnote\nfine\nbad\t\tx\n".replace(
        "\t", "\t" if suffix == ".tsv" else ","
    )
    rows = [row for _, row in read_table(write(tmp_path / f"a{suffix}", content))]
    assert rows == [
        {"text": "fine", "label": None, "note": None},
        {"text": "bad", "label": "", "note": "x"},
    ]


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_csv_is_separated_as_its_header_is(tmp_path, delimiter):
    long = "x" * 131_073
    cells = [["text", 'a, "b"', "label"], ["of one; of two\tof three, or", long, "5"]]
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows(cells)
    path = write(tmp_path / "a.csv", "\n" + stream.getvalue())
    assert [*read_table(path)] == [(3, dict(zip(*cells, strict=True)))]


def test_a_header_in_another_spelling(tmp_path):
    wanted = {"columns": ("text", "Label", "note")}
    path = write(tmp_path / "a.csv", "Text ,LABEL,note,Note\nfine,1,x,y\n")
    row = {"text": "fine", "Label": "1", "note": "x", "Note": "y"}
    assert [*read_table(path, **wanted)] == [(2, row)]
    path = write(tmp_path / "a.jsonl", '{" Text": "fine", "LABEL": 1, "note": "x"}')
    del row["Note"]
    assert [*read_table(path, **wanted)] == [(1, row)]
    # Either could be meant.
    path = write(tmp_path / "a.tsv", "\ntext\tLABEL\tlabel\tnote\nfine\t1\t2\tx\n")
    with pytest.raises(
        ValueError, match="header, line 2, has text, LABEL, label, note"
    ):
        list(read_table(path, **wanted))


def test_quotes_in_tsv_are_kept_with_a_warning_if_all_look_like_quoting(tmp_path):
    lines = 'text\n"a ""b"" c"\nd\n"e"\n'
    with pytest.warns(UserWarning, match="around 2 cells of '.*a.tsv' are part"):
        rows = [row["text"] for _, row in read_table(write(tmp_path / "a.tsv", lines))]
    assert rows == ['"a ""b"" c"', "d", '"e"']
    # A program would quote the last cell too.
    assert len([*read_table(write(tmp_path / "a.tsv", f'{lines}"e" or "f"\n'))]) == 4


def test_tsv_has_no_quoting_and_no_longest_cell(tmp_path):
    texts = ['"open', "a\rb", "x" * 200_000, "\x85\u2028"]
    path = write(tmp_path / "a.tsv", "text\n" + "\n".join(texts) + "\n")
    assert [row["text"] for _, row in read_table(path)] == texts


@pytest.mark.parametrize(("suffix", "mark"), [(".csv", ","), (".tsv", "\t")])
def test_line_ends_of_old_programs_and_other_encodings(suffix, mark, tmp_path):
    path = tmp_path / f"a{suffix}"
    lines = [f"text{mark}label", f"a b{mark}x", f"c{mark}y", ""]
    expected = [{"text": "a b", "label": "x"}, {"text": "c", "label": "y"}]
    path.write_bytes("\r".join(lines).encode())
    assert [row for _, row in read_table(path)] == expected
    path.write_bytes("\r".join(lines).encode("utf-16"))
    decoding = Decoding("utf-16")
    assert [row for _, row in read_table(path, decoding=decoding)] == expected
    with pytest.raises(ValueError, match="not at byte 0.*--encoding utf-16"):
        list(read_table(path))
    path.write_bytes("\n".join(lines).encode("utf-16-le"))
    with pytest.raises(ValueError, match=f"NUL.*{path.name}.*line 1. Give its enc"):
        list(read_table(path))
    with pytest.raises(ValueError, match=f"{path.name}.*does not start with BOM"):
        list(read_table(path, decoding=decoding))
    for mixed in ("\r{}\n{}\n", "\n{}\r{}\n"):
        path.write_bytes((lines[0] + mixed.format(*lines[1:3])).encode())
        with pytest.raises(ValueError, match=f"'.*{path.name}'"):
            list(read_table(path, columns=["text", "label"]))


def test_json_values_become_text_or_none(tmp_path):
    values = [1, 2.5, True, None, "", [1, "b"], [[3]], {"a": 2}]
    path = write(tmp_path / "a.json", json.dumps(dict(enumerate(values))))
    ((_, row),) = read_table(path)
    assert [*row.values()] == ["1", "2.5", "True", None, "", ("1", "b"), None, None]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xml", "", r"\.tsv, \.txt, \.csv, \.jsonl, \.json\. Received: '.*a\.xml'"),
        ("a.gz", "", r"suffix must be one of .* Received: '.*a\.gz'"),
        (
            "a.tsv",
            "text\tlabel\nfine\t1\n\nbad\t0\tx\n",
            "line 4, with 3 for text, label",
        ),
        (
            "a.csv",
            ",text\n0,fine,1\n",
            "; in CSV .* quotes around it. .*a.csv', line 2, with 3 for , text",
        ),
        (
            "a.csv",
            'text,label\na,0\n"fine,1\nb,0\nc,0\n',
            r"closed .*a.csv', line 3, a row .* \(unexpected end .*--skip-broken",
        ),
        ("a.csv", 'text\n"a"b\nc', "closed .*a.csv', line 2, a row .* expected after"),
        (
            "a.jsonl",
            '[{"text": "a"}]',
            r"line 1, with an array. .* `to_json\(path, orient",
        ),
        ("a.jsonl", '{"text": "a"}\n["b"]\n', "JSON object. .*line 2, with an"),
        ("a.json", '{"text": "a"', "JSON object. Received: '.*a.json', line 1"),
        ("a.json", r'{"text": "\ud800"}', "UTF-8. .*line 1, which is not"),
    ],
)
def test_invalid_tables(tmp_path, name, content, message):
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=message):
        list(read_table(path))


@pytest.mark.parametrize(
    ("suffix", "broken"),
    [
        (".csv", ["b,1,2", '"open,1', 'f,"open, too', '"a "quoted" word",1']),
        (".tsv", ["b\t1\t2"]),
        (".jsonl", ['{"text": "cut', "[1]"]),
    ],
)
def test_broken_rows_without_values_are_skipped_alone(tmp_path, suffix, broken):
    """Whole rows between and after broken ones are read, at their own lines."""
    whole = CONTENTS[suffix].strip("\n").replace("\n\n", "\n")
    lines = [*whole.split("\n"), *broken, whole.split("\n")[-1], *broken]
    path = write(tmp_path / f"a{suffix}", "\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=f"line {len(whole.splitlines()) + 1}"):
        list(read_table(path, columns=["text"]))
    rows = [*read_table(path, columns=["text"], skips_broken=True)]
    found = [row for _, row in rows if row.get("text")]
    assert found == [*ROWS, ROWS[-1]]
    assert len(rows) == len(found) + 2 * len(broken)
    assert rows[-1][0] == len(lines)
