"""Messages on standard error, and dotted names of results."""

from albert_keras.runs.reporting import flatten, note


def test_notes_go_to_standard_error(capsys):
    note("a line")
    assert capsys.readouterr() == ("", "a line\n")


def test_dotted_names():
    results = {"a": 1, "b": {"c": {"d": 2}, "e": [3]}}
    assert dict(flatten(results)) == {"a": 1, "b.c.d": 2, "b.e": [3]}
