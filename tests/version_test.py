"""The version and the address of the repository, in all files that state them."""

import configparser
import pathlib
import re

import pytest

from albert_keras.cli import REMEDIES
from albert_keras.version import __version__

ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (.+)$"),
        # What is not released yet may stand before the first version.
        ("CHANGELOG.md", r"^## \[(\d[^]]*)\]"),
        *((f"colab/{number}_*.ipynb", r"@v([\d.]+)") for number in range(1, 9)),
    ],
)
def test_files_have_the_version(file, pattern):
    (path,) = ROOT.glob(file)
    found = re.search(pattern, path.read_text("utf-8"), re.MULTILINE)
    assert found[1] == __version__


def test_the_package_has_the_address_of_the_documentation():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    address = re.search(
        r"^repo_url: (\S+)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE
    )[1]
    assert setup["metadata"]["url"] == address
    assert REMEDIES.startswith(address)
    assert (ROOT / REMEDIES.partition("/main/")[2]).exists()
    pages = setup["metadata"]["project_urls"].split()[2::3]
    assert [page for page in pages if not page.startswith(address)] == [
        "https://arxiv.org/abs/1909.11942"
    ]
