"""Plot of the report of prepared data."""

import pytest

from albert_keras.analysis.data_report import plot_data_report
from albert_keras.pretraining import PretrainingDataReport
from tests.figure_checks import check_layout, texts_of

pytest.importorskip("matplotlib")


def test_plot_shows_the_labels_and_values_of_the_report(tmp_path):
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
        label_counts={"next": 101, "previous": 102, "random": 199},
        num_predictions=6_015,
        run_counts=[600, 300, 200],
        length_counts=[0] * 10 + [1, 2, 4, 8, 16, 370],
    )
    figure = plot_data_report(report.to_dict(), tmp_path / "report.svg")
    check_layout(figure)
    assert (tmp_path / "report.svg").read_bytes().startswith(b"<?xml")
    texts = texts_of(figure)
    # Masked runs of 1, 2 and 3 words: 600, 300 and 200 of 1,100.
    assert {"54.5 %", "27.3 %", "18.2 %"} <= texts
    # Real tokens: 41,100 of 51,328 positions.
    assert "80.07%" in texts
    # Of 402 pairs, 199 are random.
    assert "49.50%" in texts
    assert {"not used:\none sentence", "71", "not used:\nno tokens", "5"} <= texts
    assert {"cuts in\nlong ones", "3", "all", "1,237"} <= texts


def test_large_numbers_and_no_examples():
    report = PretrainingDataReport(
        num_documents=112_345_678,
        cut_documents=98_765_432,
        length_counts=[0] * 15 + [40_134_520],
    )
    check_layout(plot_data_report(report.to_dict()))
    check_layout(plot_data_report(PretrainingDataReport().to_dict()))
