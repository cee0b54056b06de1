"""Exported models of several labels a row and of regression, scored like their run."""

import numpy as np
import pytest

from albert_keras.export import export_tflite
from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from albert_keras.runs import RowOptions, evaluate_run, predict_with_run
from albert_keras.tokenizers import load_tokenizer
from tests.cli.conftest import VOCABULARY_SIZE

TEXTS = ["the soup was warm", "a long dull film", "the sea", "bread and cheese"]


@pytest.fixture(scope="module")
def write(vocabulary, tmp_path_factory):
    """Writes a TFLite file of a model with random weights; returns both."""
    preprocessor = AlbertTextClassifierPreprocessor(
        load_tokenizer(vocabulary), sequence_length=13
    )
    backbone = AlbertBackbone.from_config_preset(
        "albert_test", vocabulary_size=VOCABULARY_SIZE, initializer_range=0.3
    )

    def write(num_classes, **options):
        model = AlbertTextClassifier(backbone, num_classes, preprocessor, **options)
        path = tmp_path_factory.mktemp("exported") / "model.tflite"
        export_tflite(model, path)
        return path, model

    return write


@pytest.mark.slow
def test_several_labels_a_row(write, tmp_path):
    path, model = write(3, activation="sigmoid")
    expected = model.predict(TEXTS, verbose=0)
    table = tmp_path / "rows.csv"
    table.write_text("text,labels\n" + "".join(f"{text},0;2\n" for text in TEXTS))
    reading = RowOptions(label_separator=";")
    scores = evaluate_run(path, table, reading=reading)
    targets = np.array([True, False, True])
    right = ((expected > 0.5) == targets).all(axis=1)
    assert scores["subset_accuracy"] == pytest.approx(right.mean())
    of_target = np.where(targets, expected, 1 - expected)
    assert scores["loss"] == pytest.approx(-np.log(of_target).mean(), rel=1e-4)
    row = predict_with_run(path, data=table, reading=reading)[1]
    # The classes have no names.
    probabilities = dict(zip("012", expected[1], strict=True))
    assert row["probabilities"] == pytest.approx(probabilities, abs=1e-5)
    assert row["labels"] == [label for label in "012" if probabilities[label] > 0.5]
    # A table with the column of second texts.
    expected = model.predict((TEXTS, TEXTS[::-1]), verbose=0)
    pairs = zip(TEXTS, TEXTS[::-1], strict=True)
    table.write_text("text,text_pair\n" + "".join(f"{a},{b}\n" for a, b in pairs))
    row = predict_with_run(path, data=table)[1]
    assert row["text_pair"] == TEXTS[2]
    assert [*row["probabilities"].values()] == pytest.approx(expected[1], abs=1e-5)


@pytest.mark.slow
def test_regression(write, tmp_path):
    path, model = write(1)
    expected = model.predict(TEXTS, verbose=0)
    numbers = [0.5, 3.0, 2.25, 4.0]
    table = tmp_path / "rows.csv"
    cells = zip(TEXTS, numbers, strict=True)
    table.write_text("text,label\n" + "".join(f"{text},{n}\n" for text, n in cells))
    scores = evaluate_run(path, table)
    pearson = np.corrcoef(expected[:, 0], numbers)[0, 1]
    assert scores["pearson"] == pytest.approx(pearson, abs=1e-4)
    (row,) = predict_with_run(path, TEXTS[2:3])
    assert row == {"text": TEXTS[2], "score": pytest.approx(expected[2, 0], abs=1e-5)}
