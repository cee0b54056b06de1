"""Choices become rows and rows choices, in their order."""

import numpy as np

from albert_keras.layers.choices import ChoicesToRows, RowsToChoices


def test_there_and_back():
    choices = np.arange(2 * 3 * 5).reshape(2, 3, 5)
    rows = np.array(ChoicesToRows()(choices))
    assert rows.tolist() == [row for example in choices.tolist() for row in example]
    scores = np.array(RowsToChoices()(rows[:, :1].astype("float32"), choices))
    assert scores.tolist() == choices[:, :, 0].tolist()
