"""The version, in all files that state it."""

import pathlib
import re

from albert_keras.version import __version__

ROOT = pathlib.Path(__file__).resolve().parents[1]


def test_citation_has_the_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [__version__]
