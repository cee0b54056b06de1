"""Form of the notebooks: canonical text, licence, title, badge, links and sizes."""

import json
import pathlib
import re

import pytest

import albert_keras
from tools.format_notebooks import canonical

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "colab").glob("*.ipynb"))
# The address of the repository stands once.
ADDRESS = re.search(
    r"^repo_url: (\S+)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M
)
REPOSITORY = ADDRESS[1].removeprefix("https://github.com/")


def cells_of(path):
    """Returns a notebook's cells as tuples of type, metadata and source."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return [(c["cell_type"], c["metadata"], "".join(c["source"])) for c in cells]


def test_there_are_eight_in_the_order_of_the_data_path():
    assert [path.name[:2] for path in NOTEBOOKS] == [f"{n}_" for n in range(1, 9)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_form_is_canonical(path):
    text = path.read_text("utf-8")
    hint = "run tools/format_notebooks.py colab/*.ipynb"
    assert canonical(text, path.name) == text, hint


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_begins_with_licence_title_and_badge(path):
    licence, title, links, overview = cells_of(path)[:4]
    assert licence[:2] == ("code", {"cellView": "form", "id": "licence"})
    first = "#@title Licensed under the Apache License, Version 2.0"
    # The formatter writes a space after the sign.
    assert licence[2].splitlines()[0].replace("# @", "#@") == first
    assert "WITHOUT WARRANTIES" in licence[2]
    number = path.stem.partition("_")[0]
    assert re.fullmatch(rf"# {number}\. [A-Z].*", title[2])
    page = f"github/{REPOSITORY}/blob/main/colab/{path.name}"
    assert f'href="https://colab.research.google.com/{page}"' in links[2]
    assert "colab-badge.svg" in links[2]
    assert overview[2].startswith("## Overview\n")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_has_one_title_and_cells_with_different_names(path):
    cells = cells_of(path)
    text = "\n".join(source for kind, _, source in cells if kind == "markdown")
    assert (
        len(re.findall(r"^# ", re.sub(r"```.*?```", "", text, flags=re.S), re.M)) == 1
    )
    assert re.search(r"^## Setup$", text, re.M)
    names = [metadata["id"] for _, metadata, _ in cells]
    assert len({*names}) == len(names)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_installs_this_version_in_a_cell_of_its_own(path):
    cells = {
        metadata["id"]: (metadata, source) for _, metadata, source in cells_of(path)
    }
    metadata, source = cells.pop("install")
    assert metadata["tags"] == ["skip-execution"]
    wanted = (
        rf'!pip install -q "albert_keras\[[a-z,]+\] @ git\+\S+/{REPOSITORY}@v(\S+)"'
    )
    assert re.fullmatch(wanted, source)[1] == albert_keras.__version__
    rest = "\n".join(source for _, source in cells.values())
    assert not re.search(r"^[!%](?!matplotlib inline$)", rest, re.M)
    assert 'print("albert_keras", ak.__version__' in rest


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_reads_sizes_from_one_variable(path):
    code = "\n".join(source for kind, _, source in cells_of(path) if kind == "code")
    read = {*re.findall(r"environ\.get\(\s*\"(\w+)\"", code)}
    # The first two train nothing.
    sizes = {"ALBERT_KERAS_NOTEBOOK_STEPS"} if path.name[0] > "2" else set()
    assert read == sizes


def test_next_notebooks_and_paths_exist():
    for path in NOTEBOOKS:
        text = path.read_text("utf-8")
        assert not re.search(r"/(home|root|work)/", text)
        assert "../shared" not in text
        for number in re.findall(r"notebook (\d)", text):
            assert 1 <= int(number) <= len(NOTEBOOKS)


def test_one_runs_on_jax():
    code = '"KERAS_BACKEND\\"] = \\"jax'
    assert [code in path.read_text("utf-8") for path in NOTEBOOKS].count(True) == 1
