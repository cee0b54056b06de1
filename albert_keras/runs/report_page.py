"""HTML page about a run: scores, curves, confused classes and wrong rows."""

import html
import importlib.resources
import string

from albert_keras.analysis.figures import as_svg, run_name
from albert_keras.runs.reporting import flatten
from albert_keras.system.files import atomic_path
from albert_keras.tasks.text_classification.reading import describe_labels

# Scores of a baseline without a model, by the scores to compare with them.
_OF_MAJORITY = dict.fromkeys(("accuracy", "subset_accuracy"), "majority_accuracy")
_BASELINES = {**_OF_MAJORITY, "loss": "prior_loss"}
_MOST_ROWS = 25


def write_page(folder, report, figures, mistakes, known_texts):
    """Writes `report.html`, a single file that needs no network.

    Args:
        folder: path.
        report: Dict, the content of `report.json`.
        figures: Dict of `matplotlib.figure.Figure` by title.
        mistakes: List of dicts, as from `mistakes_of`.
        known_texts: Held-out texts, or tuples of texts, that are in the training rows.
    """
    classes = report.get("classes", [])
    labels = [c["label"] for c in classes for _ in range(max(1, c["support"]))]
    _, *warnings = describe_labels(labels)
    like_labels = [[line.removeprefix("warning: ")] for line in warnings]
    known = [[" | ".join(t) if isinstance(t, tuple) else t] for t in known_texts]
    sections = {
        "Scores": _scores(report),
        **{title: as_svg(figure) for title, figure in figures.items()},
        f"Worst of {len(mistakes):,} wrong rows or labels": _table(
            next(iter(mistakes), ()), [row.values() for row in mistakes]
        ),
        "Labels that may be the same": _table(["labels"], like_labels),
        f"{len(known):,} held-out rows that were trained on": _table(["text"], known),
    }
    template = importlib.resources.files(__package__).joinpath("report.html")
    page = string.Template(template.read_text("utf-8")).substitute(
        title=html.escape(f"Report of {run_name(folder)}"),
        sections="\n".join(
            f"<h2>{t}</h2>\n<div>{body}</div>" for t, body in sections.items() if body
        ),
    )
    with atomic_path(folder / "report.html") as temporary:
        temporary.write_text(page, "utf-8", "xmlcharrefreplace")


def _scores(report):
    scores = dict(flatten(report["scores"]))
    known = {n: scores[b] for n, b in _BASELINES.items() if b in scores}
    known |= report.get("random_spans", {})
    rows = [
        [name.replace("_", " "), value, known.get(name, "")]
        for name, value in scores.items()
        if name not in _BASELINES.values()
    ]
    baseline = "random spans" if "random_spans" in report else "most frequent label"
    return _table(["score", "of the model", baseline], rows)


def _table(names, rows):
    """Returns a table of the first rows, or `""` if there are none."""
    if not rows:
        return ""
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    body = "".join(
        f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows[:_MOST_ROWS]
    )
    return f"<table><tr>{head}</tr>\n{body}</table>"


def _cell(value):
    if isinstance(value, str):
        return f"<td>{_text(value)}</td>"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
    return f'<td class="number">{shown}</td>'


def _text(text):
    return html.escape(text if len(text) <= 500 else f"{text[:499]}…")
