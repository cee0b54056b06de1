"""The picture of a data report."""

import pytest

from albert_keras.analysis.data_report import plot_data_report
from albert_keras.pretraining import PretrainingDataReport


def test_picture_names_what_it_shows(tmp_path):
    pytest.importorskip("matplotlib")
    report = PretrainingDataReport(
        num_documents=1_237,
        cut_documents=3,
        dropped_documents={"no_tokens": 5, "one_sentence": 71},
        num_corpus_tokens=90_001,
        num_unknown=11,
        num_examples=401,
        num_tokens=40_100,
        num_positions=51_328,
        num_pairs=402,
        num_positives=199,
        num_predictions=6_015,
        run_counts=[600, 300, 200],
        length_counts=[0] * 10 + [1, 2, 4, 8, 16, 370],
    )
    plot_data_report(report.to_dict(), tmp_path / "report.png")
    assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
