"""The heads of question answering: inputs, targets and losses fit their models."""

import numpy as np
import pytest

from albert_keras.tasks.question_answering.heads import HEADS
from tests.tasks.task_checks import make_backbone


@pytest.mark.parametrize("name", HEADS)
def test_targets_and_losses_match_the_model(name):
    head = HEADS[name]
    model = head.model_class(make_backbone())
    assert set(model.input) == set(head.training_inputs)
    assert set(model.output) == set(head.targets) == set(head.losses())
    defaults = model.default_loss()
    assert {k: type(v) for k, v in head.losses().items()} == {
        k: type(v) for k, v in defaults.items()
    }


def test_predictors():
    model = HEADS["joint"].model_class(make_backbone())
    beam = HEADS["joint"].predictor(model)
    assert HEADS["joint"].predictor(model) is beam
    assert set(beam.input) == set(HEADS["joint"].inputs)
    plain = HEADS["plain"].model_class(make_backbone())
    assert HEADS["plain"].predictor(plain) is plain


def test_constants_are_lengths_where_the_start_is_given():
    arrays = {
        "start_positions": np.array([3, 0]),
        "end_positions": np.array([5, 0]),
        "is_impossible": np.array([0, 1]),
    }
    received = [c.tolist() for c in HEADS["joint"].constants(arrays)]
    assert received == [[3, 0], [2, 0], [0, 1]]
    received = [c.tolist() for c in HEADS["plain"].constants(arrays)]
    assert received == [[3, 0], [5, 0]]
