"""Rows of JSON lines, and labels that some or all rows lack."""

import numpy as np
import pytest

from albert_keras.tasks.reading import (
    as_columns,
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


def test_samples_are_tuples_or_dicts_by_name():
    names = (("question",), ("context", "article"))
    samples = [("a", "b"), ["c", "d"], {"article": "f", "question": "e", "id": 1}]
    expected = [["a", "c", "e"], ["b", "d", "f"]]
    assert as_columns(samples, *names) == expected
    assert as_columns(["a", "b"], *names) == [["a"], ["b"]]
    assert as_columns(np.array(expected).T, *names) == expected
    assert as_columns(["ab", {"article": "c"}], names[1]) == [["ab", "c"]]
    message = "no other keys than question, context, article. Received: contexts, 3"
    with pytest.raises(ValueError, match=message):
        as_columns([{**samples[2], "contexts": "g", 3: "h"}], *names)


@pytest.mark.parametrize(
    ("samples", "received"),
    [
        (["ab", ("c", "d")], "'ab'"),
        ([("a", None)], "'a', None"),
        ([{"question": "a"}], "{'question': 'a'}"),
        ((["a", "b"], ["c", "d"]), "a tuple of lists. Pass `list"),
        ([], "samples="),
    ],
)
def test_other_samples_are_refused(samples, received):
    with pytest.raises(ValueError, match=f"Received: .?{received}"):
        as_columns(samples, ("question",), ("context",))


def test_rows_without_labels():
    check_labelled([], "a.csv", "a tag")
    with pytest.raises(ValueError, match="need a tag. Received: 'a.csv', without."):
        check_labelled(None, "a.csv", "a tag")
