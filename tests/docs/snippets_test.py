"""Code and links of the pages, and the site made from them."""

import itertools
import os
import re
import subprocess
import sys

import pytest

from albert_keras import cli
from albert_keras.config import PRESETS
from albert_keras.pretraining import RECIPES
from albert_keras.tasks import TASKS
from tests import snippets
from tests.snippets import ROOT
from tools import docs_hooks

DOCS = snippets.ROOT / "docs"
PAGES = [snippets.ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
IDS = [str(page.relative_to(snippets.ROOT)) for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_are_known_with_their_options(page):
    # Of README's blocks, and those that are not run, this is all that is tested.
    for block in snippets.blocks_of(page):
        if block.language == "bash":
            for words in snippets.commands_of(block.code):
                if words[:1] != ["--help"]:
                    cli.parse(words)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_blocks_name_their_language_and_python_compiles(page):
    for block in snippets.blocks_of(page):
        assert block.language or page.name == "README.md", block.line
        if block.language == "python":
            compile(block.code, page, "exec")


def test_links_to_files_of_the_repository_exist():
    for page in PAGES:
        text = page.read_text("utf-8")
        for path in re.findall(r"albert_keras/(?:tree|blob)/main/([\w./-]+)", text):
            assert (snippets.ROOT / path).exists(), (page, path)


def test_names_in_code_are_public():
    import albert_keras as ak

    texts = [page.read_text("utf-8") for page in PAGES]
    names = {*itertools.chain(*(re.findall(r"\bak\.(\w+)", t) for t in texts))}
    names -= {"Albert", "plot_"}  # `ak.Albert...Preprocessor` stands for several.
    missing = [name for name in sorted(names) if name not in ak.__all__]
    assert missing == []


# === The site: it builds strictly, and what is made from the code ===


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
    assert "minimum=" not in reference
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
