"""Progress of long work: a line a stage, with rate and time."""

import re
import time

from albert_keras.cli.progress import show_progress


def test_a_line_for_each_stage(capsys):
    with show_progress({"read": "bytes", "sort": "items", "write": "files"}) as show:
        show("read", 0, 3_000_000)
        time.sleep(0.2)
        show("read", 3_000_000, 3_000_000)
        show("sort", 0, 40)
        time.sleep(0.1)
        # What was found done and what was done just now come at the same moment.
        show("sort", 10, 40)
        show("sort", 20, 40)
        # A stage whose end is not known.
        show("write", 7, None)
    out, err = capsys.readouterr()
    assert out == ""
    read, sort, write = err.splitlines()
    assert read.startswith("read")
    assert "100%" in read
    # All of it in the time it took, though it came at once: 15 million a second at most.
    assert 3 < float(re.search(r"(\S+) million bytes/s", read)[1]) <= 15
    assert sort.startswith("sort")
    assert "50%" in sort
    assert 30 < float(re.search(r"(\S+)  items/s", sort)[1]) <= 200
    assert write.startswith("write")
    assert "files/s" in write


def test_stages_that_never_began_are_not_shown(capsys):
    with show_progress({"read": "bytes", "sort": "items"}) as show:
        show("sort", 1, 1)
    assert capsys.readouterr().err.startswith("sort")
