"""Prediction files of GLUE, byte by byte, and what its server would refuse."""

import numpy as np
import pytest

from albert_keras.tasks.text_classification.glue_predictions import (
    GLUE_ANSWERS,
    write_glue_predictions,
)


def test_files_of_a_glue_submission(tmp_path):
    for task_name, answers in GLUE_ANSWERS.items():
        predictions = answers or np.float32([-0.2, 3.14159, 5.5])
        write_glue_predictions(tmp_path / f"{task_name}.tsv", predictions)
    assert len(list(tmp_path.iterdir())) == 11
    contents = {path.stem: path.read_bytes() for path in tmp_path.iterdir()}
    three = b"index\tprediction\n0\tentailment\n1\tneutral\n2\tcontradiction\n"
    assert contents["MNLI-mm"] == contents["MNLI-m"] == contents["AX"] == three
    assert contents["QNLI"] == b"index\tprediction\n0\tentailment\n1\tnot_entailment\n"
    assert contents["CoLA"] == b"index\tprediction\n0\t0\n1\t1\n"
    assert contents["STS-B"] == b"index\tprediction\n0\t0.000\n1\t3.142\n2\t5.000\n"


@pytest.mark.parametrize(
    ("name", "predictions", "message"),
    [
        ("RTE.tsv", ["entailment", "1"], "RTE must be one of .* '1' for row 1"),
        ("SST-2.tsv", np.ones(3), "of a classifier's. .*SST-2.tsv', predictions: 1.0"),
        ("STS-B.tsv", ["0", "1"], "of a regression's predictions, .*, predictions: 0"),
        ("STS-B.tsv", np.array([2.5, np.nan]), "NaN in 1 of 2 rows, first 1"),
    ],
)
def test_predictions_that_the_server_would_refuse(tmp_path, name, predictions, message):
    with pytest.raises(ValueError, match=message):
        write_glue_predictions(tmp_path / name, predictions)
    assert list(tmp_path.iterdir()) == []
