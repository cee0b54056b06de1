"""Rows of JSON lines, and labels that some or all rows lack."""

import pytest

from albert_keras.tasks.reading import (
    check_labelled,
    is_tfds,
    labels_or_none,
    read_json_rows,
)


def test_rows_of_json_lines_with_their_places(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": [1]}\n\n{"b": "é"}\n', "utf-8")
    assert list(read_json_rows(path)) == [
        (f"'{path}', line 1", {"a": [1]}),
        (f"'{path}', line 3", {"b": "é"}),
    ]
    path.write_text('{"a": 1}\n[2]\n')
    with pytest.raises(ValueError, match="must be a JSON object. Received: .*line 2"):
        list(read_json_rows(path))
    assert is_tfds("tfds:race")
    assert not is_tfds(path)


def test_labels_of_all_rows_or_none():
    rule, places = "rows must have tags", ["line 1", "line 2", "line 4"]
    assert labels_or_none([0, [], ""], places, rule) == [0, [], ""]
    assert labels_or_none([None] * 3, places, rule) is None
    message = "Either all rows must have tags, or none. Received: line 2, without."
    with pytest.raises(ValueError, match=message):
        labels_or_none(["a", None, None], places, rule)


def test_rows_without_labels():
    check_labelled([], "a.csv", "a tag")
    with pytest.raises(ValueError, match="need a tag. Received: 'a.csv', without."):
        check_labelled(None, "a.csv", "a tag")
