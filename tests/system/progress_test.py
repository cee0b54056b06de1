"""Progress bars of long work: one line a stage, with its rate and its time."""

import re
import sys

import pytest

from albert_keras.system.progress import show_stages


@pytest.fixture
def clock(monkeypatch):
    """The seconds that rich's clock shows, in a list."""
    seconds = [100.0]
    monkeypatch.setattr("rich.console.monotonic", lambda: seconds[0])
    return seconds


def rate(line, unit):
    """Returns the rate that a line shows."""
    return float(re.search(rf"(\S+) +{unit}/s", line)[1])


def test_a_line_for_each_stage(capsys, clock):
    with show_stages({"read": "bytes", "sort": "items", "write": "files"}) as show:
        show("read", 0, 3_000_000)
        clock[0] += 0.2
        show("read", 3_000_000, 3_000_000)
        show("sort", 0, 40)
        clock[0] += 0.4
        # Tasks done in an earlier call are reported at the same moment as a new one.
        show("sort", 10, 40)
        show("sort", 20, 40)
        # A stage whose total is unknown.
        show("write", 7, None)
    out, err = capsys.readouterr()
    assert out == ""
    read, sort, write = err.splitlines()
    assert read.startswith("read")
    assert "100%" in read
    assert rate(read, "million bytes") == 15.0  # 3 million in 0.2 s.
    assert sort.startswith("sort")
    assert "50%" in sort
    assert rate(sort, "items") == 50.0  # 20 in 0.4 s.
    assert write.startswith("write")
    assert "files/s" in write


def test_stages_that_never_began_are_not_shown(capsys):
    with show_stages({"read": "bytes", "sort": "items"}) as show:
        show("sort", 1, 1)
    assert capsys.readouterr().err.startswith("sort")


def test_one_line_of_text_in_a_notebook(capsys, monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    # As kernels do, though a movement of the cursor is a new line there.
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with show_stages({"read": "bytes"}) as show:
        show("read", 1, 3)
        show("read", 3, 3)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("read ")
