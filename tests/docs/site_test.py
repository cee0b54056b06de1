"""The site of the documentation: it builds strictly, and what is made from the code."""

import base64
import json
import os
import subprocess
import sys

import pytest

from albert_keras import cli
from albert_keras.config import PRESETS
from albert_keras.pretraining import RECIPES
from albert_keras.tasks import TASKS
from tests.snippets import ROOT
from tools import docs_hooks, docs_notebooks


@pytest.mark.slow
def test_site_builds_without_a_warning(tmp_path):
    environment = {
        **os.environ,
        "PYTHON": sys.executable,
        "SITE": str(tmp_path / "site"),
    }
    done = subprocess.run(
        [ROOT / "tools" / "docs.sh"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    reference = (tmp_path / "site" / "reference" / "models" / "index.html").read_text()
    # Defaults of options, not their declarations.
    assert "layer_norm_epsilon" in reference
    assert "Range(" not in reference
    assert "&gt;&gt;&gt;" in reference
    # Parts of CONTRIBUTING and README, included; a notebook.
    for page, text in (
        ("architecture", "the range of a number"),
        ("extending", "exit"),
        ("quickstart", "film.tflite"),
        ("notebooks/1_text_to_ids", "Run it in Colab"),
    ):
        html = (tmp_path / "site" / page / "index.html").read_text()
        assert text in html
        assert "--8&lt;--" not in html


def test_reference_of_commands_has_every_option():
    text = docs_hooks.commands()
    for name in cli.COMMANDS:
        assert f"\n## {name}\n" in f"\n{text}"
        _, parser = cli.make_parsers([name])
        flags = {flag for action in parser._actions for flag in action.option_strings}
        for flag in flags - {"-h", "--help"}:
            assert f"`{flag}`" in text
    assert "%%" not in text


@pytest.mark.parametrize(
    ("make", "table"),
    [
        (docs_hooks.recipes, RECIPES),
        (docs_hooks.tasks, TASKS),
        (docs_hooks.sizes, PRESETS),
    ],
)
def test_tables_have_a_row_for_each_name(make, table):
    rows = make().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [*table]
    assert {row.count(" | ") for row in rows} == {rows[0].count(" | ")}


def test_a_notebook_is_a_page_with_its_outputs(tmp_path):
    image = base64.b64encode(b"an image").decode()
    outputs = [
        {"text": ["\x1b[1m7\x1b[0m\n"]},
        {"data": {"image/png": image, "text/plain": "<Figure>"}},
        {"data": {"text/plain": "8"}},
        {"data": {"text/html": ["<b>9\n", "\n</b>"], "text/plain": "<HTML>"}},
    ]
    cells = [
        ("code", "licence", "print(2)", []),
        ("markdown", "c01", "# 1. A title", []),
        ("markdown", "links", '<a href="a://colab"/><a href="a://page"/>', []),
        ("code", "c02", "print(7)", outputs),
    ]
    keys = ("cell_type", "metadata", "source", "outputs")
    rows = [(kind, {"id": name}, text, out) for kind, name, text, out in cells]
    notebook = {"cells": [dict(zip(keys, row, strict=True)) for row in rows]}
    (tmp_path / "1_a.ipynb").write_text(json.dumps(notebook))
    assert docs_notebooks.pages_of(tmp_path / "1_a.ipynb") == {
        "1_a.md": "# 1. A title\n\n[Run it in Colab](a://colab) · [Its file](a://page)"
        '\n\n```python\nprint(7)\n```\n\n```text title="Output"\n7\n```'
        "\n\n![Output of the code above](1_a_0.png)"
        '\n\n```text title="Output"\n8\n```'
        "\n\n<div>\n<b>9\n</b>\n</div>\n",
        "1_a_0.png": b"an image",
    }
