"""Figures of the README and the documentation are those that were measured."""

import json
import re

import pytest

from tests import snippets
from tests.docs.snippets_test import DOCS, IDS, PAGES

MEASUREMENTS = DOCS / "results" / "measurements.md"
LINK = re.compile(r"\[([^\[\]]*\d[^\[\]]*)\]\([\w./]*measurements\.md#([\w-]+)\)")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-\d+)?")


def sections():
    """Returns the text below each title of the measurements, by its anchor."""
    parts = re.split(r"^#+ (.+)$", MEASUREMENTS.read_text("utf-8"), flags=re.M)
    titles, texts = parts[1::2], parts[2::2]
    anchors = [re.sub(r"[^\w-]", "", t.lower().replace(" ", "-")) for t in titles]
    return dict(zip(anchors, texts, strict=True))


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_linked_figures_are_in_the_measurement(page):
    measured = sections()
    for text, anchor in LINK.findall(page.read_text("utf-8")):
        known = {*NUMBER.findall(measured[anchor])}
        assert known.issuperset(NUMBER.findall(text)), (text, anchor)


def test_every_figure_of_the_results_has_a_link():
    text = (DOCS / "results.md").read_text("utf-8")
    assert len(LINK.findall(text)) > 30
    for row in re.findall(r"^\| (?!---|figure)(.+) \|$", text, re.M):
        label, *cells = row.split(" | ")
        if label not in ("parameters", ""):
            assert any("measurements.md#" in c for c in cells) or not re.search(
                r"\d", "".join(cells)
            ), row


@pytest.mark.parametrize("name", ["albert_nano_en", "albert_mini_en"])
def test_figures_of_the_packaged_models_are_those_of_their_results(name):
    folder = snippets.ROOT / "saved_models" / name
    results = json.loads((folder / "results.json").read_text("utf-8"))
    measured = NUMBER.findall(sections()[name])
    for source in ("evaluation", "other_text"):
        for loss in ("mlm_loss", "unigram_loss", "trigram_loss"):
            assert f"{results[source][loss]:.3f}" in measured
