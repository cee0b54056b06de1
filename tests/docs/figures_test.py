"""Figures of the README and the documentation are those that were measured."""

import json
import re

import pytest

from tests import snippets
from tests.docs.snippets_test import IDS
from tools.figures import DOCS, LINK, PAGES, read_figures, with_figures

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-\d+)?")
# A speed or a size, as a factor.
FACTOR = re.compile(r"\d times (?:as fast|as slow|smaller|less)")


def sections():
    """Returns the text below each title of the measurements, by its anchor."""
    text = (DOCS / "results" / "measurements.md").read_text("utf-8")
    parts = re.split(r"^#+ (.+)$", text, flags=re.M)
    titles, texts = parts[1::2], parts[2::2]
    anchors = [re.sub(r"[^\w-]", "", t.lower().replace(" ", "-")) for t in titles]
    return dict(zip(anchors, texts, strict=True))


@pytest.mark.parametrize("section", read_figures())
def test_figures_are_in_their_measurement(section):
    measured = {*NUMBER.findall(sections()[section])}
    for name, value in read_figures()[section].items():
        assert measured.issuperset(NUMBER.findall(value)), name
    quoted = "".join(page.read_text("utf-8") for page in PAGES)
    names = {m["name"] for m in LINK.finditer(quoted) if m["section"] == section}
    assert names == {*read_figures()[section]}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_pages_quote_the_figures(page):
    text = page.read_text("utf-8")
    assert with_figures(text, read_figures()) == text, "run tools/figures.py"
    if page.parent.name != "results":
        assert FACTOR.findall(LINK.sub("", text)) == []


def test_a_changed_figure_is_written_with_its_unit_or_without():
    text = '[1.5](a/measurements.md#b "c"), [1.5 ms](measurements.md#b "c"), [1](x.md)'
    assert with_figures(text, {"b": {"c": "2.5 ms"}}) == text.replace("1.5", "2.5")


def test_every_figure_of_the_results_has_a_link():
    text = (DOCS / "results.md").read_text("utf-8")
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
    figures, means = read_figures()[name], results["comparisons"]["mean"]
    other = results["other_text"]
    assert figures["masked-word-loss-on-another-source"] == f"{other['mlm_loss']:.3f}"
    assert figures["masked-word-loss-of-trigrams"] == f"{other['trigram_loss']:.3f}"
    gain = f"{100 * (means['pretrained'] - means['random']):+.1f} points"
    assert figures["gain-over-random-weights-seven-tasks"] == gain
