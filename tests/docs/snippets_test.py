"""Code and links of the pages."""

import itertools
import re

import pytest

from albert_keras import cli
from tests import snippets
from tools.figures import PAGES

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
    for page in (*PAGES, snippets.ROOT / "CONTRIBUTING.md"):
        text = page.read_text("utf-8")
        paths = re.findall(r"albert_keras/(?:tree|blob)/main/([\w./-]+)", text)
        paths += re.findall(r"(?<!/)\btools/[\w/]+\.(?:py|sh)\b", text)
        for path in paths:
            assert (snippets.ROOT / path).exists(), (page, path)


def test_names_in_code_are_public():
    import albert_keras as ak

    texts = [page.read_text("utf-8") for page in PAGES]
    found = itertools.chain(*(re.findall(r"\bak\.(\w+)\.?(\w*)", t) for t in texts))
    # `ak.Albert...Preprocessor` stands for several.
    names = {pair for pair in found if pair[0] not in ("Albert", "plot_")}
    missing = [
        (first, second)
        for first, second in sorted(names - {("analysis", "plot_")})
        if first not in ak.__all__
        and not (second and hasattr(getattr(ak, first), second))
    ]
    assert missing == []
