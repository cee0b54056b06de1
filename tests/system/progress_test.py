"""Progress bars of long work: a line for each stage."""

import sys

import pytest

from albert_keras.system.progress import show_stages


@pytest.mark.parametrize("in_notebook", [False, True])
def test_a_line_for_each_stage_that_began(capsys, monkeypatch, in_notebook):
    # Kernels claim to be terminals, though a movement of the cursor is a new line there.
    monkeypatch.setattr("rich.console._is_jupyter", lambda: in_notebook)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: in_notebook, raising=False)
    with show_stages() as show:
        show("read", 0, 3_000_000)
        show("read", 3_000_000, 3_000_000)
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
    assert sort.startswith("sort")
    assert "50%" in sort
    assert write.startswith("write")


def test_no_line_without_a_stage(capsys):
    with show_stages():
        pass
    assert capsys.readouterr().err == ""
