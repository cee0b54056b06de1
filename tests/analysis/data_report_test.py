"""Plot of the report of prepared data."""

import pytest

from albert_keras.analysis import plot_data_report
from albert_keras.pretraining import PretrainingDataReport
from tests.figure_checks import check_layout, texts_of

pytest.importorskip("matplotlib")


def test_plot_shows_the_labels_and_values_of_the_report():
    report = PretrainingDataReport(
        num_documents=112_345_678,
        cut_documents=98_765_432,
        dropped_documents={"one_sentence": 71},
        num_examples=1,
        num_tokens=41_100,
        num_positions=51_328,
        num_pairs=402,
        label_counts={"next": 203, "random": 199},
        run_counts=[600, 300, 200],
        length_counts=[0] * 15 + [370],
    )
    figure = plot_data_report(report.to_dict())
    check_layout(figure)
    texts = texts_of(figure)
    # Masked runs of 1, 2 and 3 words: 600, 300 and 200 of 1,100.
    assert {"1", "54.55%", "2", "27.27%", "3", "18.18%"} <= texts
    # Real tokens: 41,100 of 51,328 positions. Of 402 pairs, 199 are random.
    assert {"real token share", "80.07%", "49.50%"} <= texts
    assert {"not used: one sentence", "71", "cuts", "98,765,432"} <= texts
    check_layout(plot_data_report(PretrainingDataReport().to_dict()))
