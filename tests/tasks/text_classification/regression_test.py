"""Regression of pairs of texts."""

import numpy as np
import pytest

from albert_keras.tasks import TextRegressionTask
from albert_keras.tasks.text_classification import Columns, LabelledTexts
from tests.tasks.task_checks import run_task_test
from tests.tasks.text_classification.labelled_rows import TEXTS


@pytest.mark.slow
def test_regression_of_pairs_whose_second_text_decides(tokenizer, tmp_path):
    labels = ["0.5", "1", "2.25", "3", "0", "4"]
    rows = LabelledTexts(TEXTS[:6], labels, TEXTS[1:])
    task = TextRegressionTask(columns=Columns(pair="text_pair"))
    task, prepared, model, scores = run_task_test(
        task, rows, tokenizer, tmp_path, learned=("pearson", 0.97)
    )
    results = task.score(prepared, scores)
    assert results["prior_loss"] == pytest.approx(np.var(np.float32(labels)))
    assert results["spread"] == pytest.approx(np.ptp(scores))
    assert task.prior_loss(prepared) == pytest.approx(results["prior_loss"])
    described = task.describe(prepared, scores)
    assert list(described[0]) == ["text", "text_pair", "score"]
    task.write_submission(tmp_path / "STS-B.tsv", prepared, scores)
    written = (tmp_path / "STS-B.tsv").read_text().split()
    assert [float(cell) for cell in written[3::2]] == pytest.approx(
        np.clip(scores[:, 0], 0, 5), abs=5e-4
    )
    swapped = rows._replace(texts=rows.pairs, pairs=rows.texts)
    others = task.predict(model, task.prepare(swapped), 4)
    assert np.abs(others - scores).max() > 1e-3
    typed = task.rows_of([rows.texts[2], rows.pairs[2]])
    np.testing.assert_allclose(
        task.predict(model, task.prepare(typed), 1)[0], scores[2], atol=2e-5
    )
    named = {"text": "c", "text_pair": "d", "label": "1"}
    assert task.rows_of([("a", "b"), named]).pairs == ["b", "d"]
    with pytest.raises(ValueError, match="text and text_pair.*Received: .'one'"):
        task.rows_of(["one"])
