"""Texts, pairs and labels from tables and folders, and labels as numbers."""

import numpy as np
import pytest

from albert_keras.tasks.text_classification.reading import (
    Columns,
    LabelledTexts,
    describe_labels,
    each_label,
    label_numbers,
    read_labelled_texts,
)

PAIRS = Columns("question", "same", "other")


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, "utf-8")
    return path


def test_columns_by_default_and_by_name(tmp_path):
    path = write(tmp_path / "a.csv", "text,label\ngood,5\nbad,1\n")
    rows = read_labelled_texts(str(path))
    assert rows == LabelledTexts(["good", "bad"], ["5", "1"], None, 0)
    path = write(tmp_path / "b.csv", "stars,review,note\n5,good,x\n1,bad,\n")
    assert read_labelled_texts(path, Columns("review", "stars")) == rows


def test_an_optional_second_text(tmp_path):
    columns = Columns(optional_pair="text_pair")
    for name, content, pairs in (
        ("a.csv", "text,label,Text_Pair\na,0,b\nc,1,d\n", ["b", "d"]),
        ("b.tsv", "text\ttext_pair\tlabel\na\t\t0\nc\t\t1\n", None),
        ("c.jsonl", '{"text": "a", "label": 0}\n{"text": "c", "label": 1}\n', None),
    ):
        rows = read_labelled_texts(write(tmp_path / name, content), columns)
        assert rows == (["a", "c"], ["0", "1"], pairs, 0)
    some = write(
        tmp_path / "d.jsonl", '{"text": "a"}\n{"text": "c", "text_pair": "d"}\n'
    )
    with pytest.raises(ValueError, match="must have a `text_pair`.* line 1, with text"):
        read_labelled_texts(some, columns, needs_labels=False)


def test_folder_of_text_files(tmp_path):
    files = {
        "pos/2_9.txt": "good\nfun\n",
        "pos/10_7.txt": "fine",
        "pos/notes.md": "not a text",
        "neg/0_1.txt": "\ufeffdull",
        "unsup/3_0.txt": "of which nobody knows",
        "urls_pos.txt": "http",
    }
    for name, content in files.items():
        write(tmp_path / name, content)
    with pytest.raises(ValueError, match="folder of .txt files for each label"):
        read_labelled_texts(tmp_path / "neg")
    rows = read_labelled_texts(tmp_path)
    assert rows == (["dull", "fine", "good\nfun\n"], ["neg", "pos", "pos"], None, 0)
    write(tmp_path / "neg" / "4_2.txt", "")
    with pytest.raises(
        ValueError, match="have a `text`. Received: .*', neg/4_2.txt, where it"
    ):
        read_labelled_texts(tmp_path)


def test_incomplete_rows_are_counted_if_allowed(tmp_path):
    broken = Columns("question", "same", "other", skips_broken=True)
    head = "question\tother\tsame\n"
    path = write(
        tmp_path / "a.tsv", f"{head}Who?\n\tb\t1\na\tb\t0\nWhy?\tc\t\nd\te\t1\n"
    )
    assert read_labelled_texts(path, broken) == (["a", "d"], ["0", "1"], ["b", "e"], 3)
    with pytest.raises(
        ValueError, match="have a `same`. Received: .*', line 2, where it"
    ):
        read_labelled_texts(path, PAIRS)
    path = write(path, f"{head}Who?\na\tb\t0\tc\nd\te\t1\n")
    assert read_labelled_texts(path, broken) == (["d"], ["1"], ["e"], 2)
    # A column that is not there is no broken row.
    path = write(path, "question\tsame\nWho?\t1\n")
    with pytest.raises(ValueError, match="line 1, has question, same. Name yours"):
        read_labelled_texts(path, broken)


@pytest.mark.parametrize(
    ("content", "place"),
    [("text\na\nb\n", "header, line 1"), ("text,label\na,\nb,\n", "line 2")],
)
def test_texts_without_labels(tmp_path, content, place):
    path = write(tmp_path / "a.csv", content)
    rows = read_labelled_texts(path, needs_labels=False)
    assert rows == (["a", "b"], None, None, 0)
    with pytest.raises(ValueError, match=f"`label`.*Received: '.*a.csv',.* {place}"):
        read_labelled_texts(path)


def test_incomplete_rows_are_kept_for_prediction(tmp_path):
    columns = Columns("a", "same", "b", skips_broken=True)
    path = write(tmp_path / "a.tsv", "a\tb\nx\ny\nz\tw\n")
    rows = read_labelled_texts(path, columns, needs_labels=False)
    assert rows == (["x", "y", "z"], None, ["", "", "w"], 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "least one whole row. Received: '.*a.tsv', with 0 broken"),
        ("review\tlabel\nfine\t1\n", "include `text`, `label`. .* has review, label"),
        ("text\tlabel\nfine\t1\nbad\n", "have a `label`. Received: '.*a.tsv', line 3"),
        ("text\tlabel\n \t1\n", "have a `text`. Received: '.*a.tsv', line 2, where"),
    ],
)
def test_incomplete_files(tmp_path, content, message):
    path = write(tmp_path / "a.tsv", content)
    with pytest.raises(ValueError, match=message):
        read_labelled_texts(path)


def test_several_labels_a_row(tmp_path):
    columns = Columns(label="labels", label_separator="|")
    path = write(tmp_path / "a.csv", "text,labels\na,x\nb,\nc, y | x|y\n")
    expected = (["a", "b", "c"], [("x",), (), ("y", "x")], None, 0)
    assert read_labelled_texts(path, columns) == expected
    assert each_label(expected[1]) == ["x", "y", "x"]
    lines = '{"text": "a", "labels": "x"}\n{"text": "b", "labels": []}\n'
    path = write(tmp_path / "a.jsonl", f'{lines}{{"text": "c", "labels": ["y", "x"]}}')
    assert read_labelled_texts(path, columns) == expected
    # A list is not one label.
    with pytest.raises(
        ValueError, match="one `labels`. Received: .*line 2, with a list"
    ):
        read_labelled_texts(path, Columns(label="labels"))


def test_label_numbers():
    numbers = label_numbers(["3.8", "-0", " 1e3 ", "5"])
    assert numbers.dtype == np.float32
    assert numbers.tolist() == np.float32([3.8, 0, 1000, 5]).tolist()
    message = "finite number. Received: x, nan, inf, -1e39."
    with pytest.raises(ValueError, match=message):
        label_numbers(["x", "2", "nan", "inf", "-1e39"])


@pytest.mark.parametrize(
    ("rare", "known", "is_misspelt"),
    [
        ("positve", "positive", True),
        ("posiitve", "positive", True),
        ("neutrel", "neutral", True),
        ("spamm", "spam", True),
        ("Spam", "spam", False),
        ("entailment", "not_entailment", False),
        ("irrelevant", "relevant", False),
        ("class 12", "class 11", False),
        ("cat", "bat", False),
    ],
)
def test_a_rare_label_that_is_almost_a_frequent_one(rare, known, is_misspelt):
    lines = describe_labels([known] * 1794 + [rare] * 2 + ["another"] * 300)
    line = f"warning: the label '{rare}' (2 of the rows) is almost '{known}' (1,794)"
    assert any(text.startswith(line) for text in lines) == is_misspelt
    # In as many rows it is a label of its own.
    assert "almost" not in "".join(describe_labels([known] * 19 + [rare]))


def test_labels_are_counted_and_odd_spellings_named():
    labels = ["bad"] * 3 + ["good"] * 2 + ["Good", "GOOD "]
    assert describe_labels(labels) == [
        "labels: 'bad' 3, 'good' 2, 'Good' 1, 'GOOD ' 1",
        "warning: 'GOOD ', 'Good', 'good' are different labels; give equal ones one "
        "spelling",
    ]
    (_, warning) = describe_labels(["1", "1.0", "0", "-1", "nan", "+1"])
    assert warning.startswith("warning: '+1', '1', '1.0' are different labels")
    assert describe_labels(["no", "yes", "no"]) == ["labels: 'no' 2, 'yes' 1"]
    (_, warning) = describe_labels(["caf\u00e9", "cafe\u0301", "a  b"])
    assert "are different labels" in warning
    (line,) = describe_labels([str(i) for i in range(23)])
    assert line.endswith(", 3 more")
