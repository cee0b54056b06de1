"""The tool of hostile files and bad options: a short form."""

import pytest

from tests.forked_processes import forked_processes
from tools import torture

# Commands that take less than half a second, and one that needs a trained model.
SHORT = (
    "embedders:one_row:1",
    *("files:model:1", "files:vocab:2", "files:corpus:3", "files:documents:4"),
    *("options:analyze:1", "options:prepare-data:2", "options:train-vocabulary:3"),
)


def run_short():
    return torture.main(["--only", *SHORT])


@pytest.mark.slow
def test_short_form_holds():
    with forked_processes() as start:
        process = start(run_short)
        out, err = process.communicate()
    assert out.splitlines() == [
        "embedders: 1 tried, 1 held, 0 failed",
        "files: 4 tried, 4 held, 0 failed",
        "options: 3 tried, 3 held, 0 failed",
    ], err
    assert process.returncode == 0
