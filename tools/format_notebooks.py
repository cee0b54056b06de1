"""Writes notebooks in one canonical form, without outputs.

The form is that of TensorFlow's `nbfmt`, and keeps the tags of cells: sorted keys, two
spaces, no outputs, no empty cells. A test checks it; run this after editing a notebook.

example:
  python tools/format_notebooks.py colab/*.ipynb
"""

import json
import pathlib
import sys

# Fields that are kept; what editors add is dropped.
METADATA = ("accelerator", "colab", "kernelspec")
CELL_METADATA = ("cellView", "id", "tags")
KERNEL = {"display_name": "Python 3", "name": "python3"}


def canonical(text, name):
    """Returns the canonical text of a notebook.

    Args:
        text: str, a notebook as JSON.
        name: str, its file name.
    """
    notebook = json.loads(text)
    metadata = {key: notebook["metadata"].get(key) for key in METADATA}
    metadata["colab"] = {"name": name, "toc_visible": True}
    metadata["kernelspec"] = KERNEL
    content = {
        "cells": [canonical_cell(c) for c in notebook["cells"] if "".join(c["source"])],
        "metadata": {key: value for key, value in metadata.items() if value},
        "nbformat": 4,
        "nbformat_minor": 0,
    }
    return json.dumps(content, sort_keys=True, ensure_ascii=False, indent=2) + "\n"


def canonical_cell(cell):
    """Returns a cell without outputs and without blank lines around its source."""
    source = "".join(cell["source"]).strip("\n")
    metadata = {key: cell["metadata"].get(key) for key in CELL_METADATA}
    # Editors that know version 4.5 of the format write the name here.
    metadata["id"] = metadata["id"] or cell.get("id")
    formatted = {
        "cell_type": cell["cell_type"],
        "metadata": {key: value for key, value in metadata.items() if value},
        "source": source.splitlines(keepends=True),
    }
    if cell["cell_type"] == "code":
        formatted |= {"execution_count": None, "outputs": []}
    return formatted


def main(paths):
    """Formats files in place."""
    for path in map(pathlib.Path, paths):
        text = path.read_text("utf-8")
        if (formatted := canonical(text, path.name)) != text:
            path.write_text(formatted, "utf-8")
            print(f"formatted {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
