"""What runs report: the page of one, and the summary of several seeds."""

import dataclasses
import html.parser
import json
import re

import pytest

from albert_keras.analysis import plot_confusion_matrix
from albert_keras.runs.finetuning import fit_seeds
from albert_keras.runs.finetuning_config import FinetuningRunConfig
from albert_keras.runs.report_page import write_page
from albert_keras.training import TrainingCollapsedError

LABELS = ["good", "Good ", "<i>bad</i>", "label 1", "label 2"]
MATRIX = [[n == m for n in range(5)] for m in range(5)]


class Reader(html.parser.HTMLParser):
    """Texts of cells and headings, and tags that are open."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "html"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag != "html":
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th", "h1", "h2", "p"):
            self.texts.append(data)


def read(folder):
    reader = Reader()
    page = (folder / "report.html").read_text("utf-8")
    reader.feed(page)
    assert reader.open == []
    # It loads nothing; names of XML are no addresses to load.
    assert not re.search(r"""(src|href)=["'](?!#|data:)|@import|url\((?!#)""", page)
    return reader.texts, page


def test_scores_stand_beside_those_without_a_model(tmp_path):
    scores = {"accuracy": 0.75, "majority_accuracy": 0.5, "num_examples": 1234}
    write_page(tmp_path, {"scores": {**scores, "more": {"f1": 2.0}}}, {}, [], [])
    texts, _ = read(tmp_path)
    place = texts.index("accuracy")
    assert texts[place : place + 3] == ["accuracy", "0.75", "0.5"]
    assert "1,234" in texts
    assert "more.f1" in texts
    assert sum(text in ("h2", "Scores") for text in texts) == 1
    report = {"scores": {"f1": 80.5}, "random_spans": {"f1": 4.75}}
    write_page(tmp_path, report, {}, [], [])
    texts, _ = read(tmp_path)
    assert texts[texts.index("random spans") + 1 :][:3] == ["f1", "80.5", "4.75"]
    assert not any("wrong rows" in text or "Labels" in text for text in texts)


def test_rows_and_labels_to_look_at(tmp_path):
    pytest.importorskip("matplotlib")
    text = "<script>alert(1)</script> & $title"
    mistake = {"text": text, "label": "a", "prediction": "b", "probability": 0.98765}
    mistakes = [{**mistake, "label": f"label {n}"} for n in range(30)]
    mistakes[1]["text"] = "long " * 300
    classes = [{"label": label, "support": n} for n, label in enumerate(LABELS)]
    report = {"scores": {"loss": 0.25}, "classes": classes}
    figure = plot_confusion_matrix({"labels": LABELS, "confusion_matrix": MATRIX})
    known = [("first", "second"), "a lone \ud83d"]
    write_page(tmp_path, report, {"Confused classes": figure}, mistakes, known)
    texts, page = read(tmp_path)
    assert texts.count(text) == 24
    assert "label 24" in texts
    assert "label 25" not in texts
    assert "Worst of 30 wrong rows or labels" in texts
    assert max(map(len, texts)) == 500
    assert "0.9877" in texts
    assert "first | second" in texts
    (line,) = [text for text in texts if "different labels" in text]
    assert line.startswith("'Good ', 'good' are different labels")
    assert "2 held-out rows that were trained on" in texts
    assert page.count("<svg") == 1
    assert "<script" not in page


# === Runs of several seeds, and their summary ===


def make_run_class(collapsing):
    """Returns a fake `FinetuningRun` that collapses with some seeds."""

    @dataclasses.dataclass
    class FakeRun:
        config: FinetuningRunConfig

        def fit(self):
            seed = self.config.seed
            assert self.config.seeds == 1
            if seed in collapsing:
                raise TrainingCollapsedError(f"Seed {seed} is constant.", step=5)
            return {"accuracy": seed / 8, "run": str(self.config.run)}

    return FakeRun


def test_collapsed_seeds_are_left_out_of_the_summary(tmp_path):
    options = {"task": "sst-2", "checkpoint": "a", "seed": 3, "seeds": 3}
    config = FinetuningRunConfig(run=str(tmp_path), **options)
    results = fit_seeds(config, make_run_class({4}))
    assert (results["seeds"], results["collapsed_seeds"]) == (3, 1)
    assert results["median"] == {"accuracy": 0.5}
    assert results["spread"] == {"accuracy": 0.25}
    folders = [str(tmp_path / f"seed-{seed}") for seed in (3, 4, 5)]
    assert list(results["runs"]) == folders
    assert results["runs"][folders[1]] == {"collapsed": "Seed 4 is constant."}
    assert json.loads((tmp_path / "seeds.json").read_text()) == results
    # If all collapse, there is nothing to summarize.
    with pytest.raises(TrainingCollapsedError, match="Seed 5"):
        fit_seeds(config, make_run_class({3, 4, 5}))
