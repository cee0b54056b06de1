"""The heads of question answering: inputs and targets fit their models."""

import numpy as np
import pytest

from albert_keras.tasks.question_answering.heads import ANSWER_HEADS
from tests.tasks.task_checks import make_backbone


@pytest.mark.parametrize("name", ANSWER_HEADS)
def test_inputs_and_targets_match_the_model(name):
    head = ANSWER_HEADS[name]
    model = head.model_class(make_backbone())
    assert set(model.input) == set(head.training_inputs)
    assert set(model.output) == set(head.targets)
    predictor = head.predictor(model)
    assert (predictor is model) == (name == "plain")
    assert head.predictor(model) is predictor
    assert set(predictor.input) == set(head.inputs)


def test_constants_are_lengths_where_the_start_is_given():
    arrays = {
        "start_positions": np.array([3, 0]),
        "end_positions": np.array([5, 0]),
        "is_impossible": np.array([0, 1]),
    }
    received = [c.tolist() for c in ANSWER_HEADS["joint"].constants(arrays)]
    assert received == [[3, 0], [2, 0], [0, 1]]
    received = [c.tolist() for c in ANSWER_HEADS["plain"].constants(arrays)]
    assert received == [[3, 0], [5, 0]]
