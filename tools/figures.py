#!/usr/bin/env python3
"""Writes the figures of `docs/results/figures.json` to the pages that quote them.

A page quotes a figure as a link to its measurement. The title of the link is the figure's
name: `[82.0 %](results/measurements.md#albert_mini_en "sst-2-of-a-linear-model")`. The
text is the whole value, or only its number if the unit follows later. After a measurement
change its section and the JSON file, and run this tool.
"""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(
    r"\[(?P<shown>[^\[\]]*\d[^\[\]]*)\]"
    r"\([\w./]*measurements\.md#(?P<section>[\w-]+)(?: \"(?P<name>[^\"]+)\")?\)"
)


def read_figures():
    """Returns the figures: for each section of the measurements, values by name."""
    return json.loads((DOCS / "results" / "figures.json").read_text("utf-8"))


def with_figures(text, figures):
    """Returns the text of a page with the present values of its figures."""

    def written(match):
        value = figures[match["section"]][match["name"]]
        if " " not in match["shown"]:
            value = value.partition(" ")[0]
        return f"[{value}]{match[0].partition(']')[2]}"

    return LINK.sub(written, text)


def main():
    figures = read_figures()
    for page in PAGES:
        text = page.read_text("utf-8")
        if (changed := with_figures(text, figures)) != text:
            page.write_text(changed, "utf-8")
            print(f"changed {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
