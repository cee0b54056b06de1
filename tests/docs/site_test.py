"""The site of the documentation: it builds strictly, and what is made from the code."""

import os
import subprocess
import sys

import pytest

from albert_keras import cli
from albert_keras.config import PRESETS
from albert_keras.pretraining import RECIPES
from albert_keras.tasks import TASKS
from tests.snippets import ROOT
from tools import docs_hooks


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
    # Parts of CONTRIBUTING, included.
    for page, text in (
        ("architecture", "The range of a number"),
        ("extending", "exit"),
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


def test_pages_of_results_are_added_to_the_navigation(tmp_path, monkeypatch):
    monkeypatch.setattr(docs_hooks, "ROOT", tmp_path)
    config = {"nav": [{"Home": "index.md"}, {"Results": "results.md"}]}
    assert docs_hooks.on_config(config)["nav"][1] == {"Results": "results.md"}
    folder = tmp_path / "docs" / "results"
    folder.mkdir(parents=True)
    (folder / "ablations.md").write_text("# The paper's ablations\n\n# Not this\n")
    pages = [
        {"Overview": "results.md"},
        {"The paper's ablations": "results/ablations.md"},
    ]
    assert docs_hooks.on_config(config)["nav"][1] == {"Results": pages}
