"""Plot of the report of prepared data."""

import re

import pytest

from albert_keras.analysis.data_report import plot_data_report
from albert_keras.pretraining import PretrainingDataReport


def test_plot_shows_the_labels_and_values_of_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    report = PretrainingDataReport(
        num_documents=1_237,
        cut_documents=3,
        dropped_documents={"no_tokens": 5, "one_sentence": 71},
        num_corpus_tokens=90_001,
        num_unknown=11,
        num_examples=401,
        num_tokens=41_100,
        num_positions=51_328,
        num_pairs=402,
        num_positives=199,
        num_predictions=6_015,
        run_counts=[600, 300, 200],
        length_counts=[0] * 10 + [1, 2, 4, 8, 16, 370],
    )
    plot_data_report(report.to_dict(), tmp_path / "report.svg")
    # matplotlib writes each text of an SVG file in a comment too.
    texts = re.findall("<!-- (.*?) -->", (tmp_path / "report.svg").read_text("utf-8"))
    assert {"real tokens, % of the sequence length", "documents", "label"} <= set(texts)
    # Masked runs of 1, 2 and 3 words: 600, 300 and 200 of 1,100.
    assert {"54.55", "27.27", "18.18"} <= set(texts)
    # Real tokens: 41,100 of 51,328 positions.
    assert "80.07" in texts
    assert {"one sentence", "71", "no tokens", "5", "cut", "3", "all", "1237"} <= set(
        texts
    )
