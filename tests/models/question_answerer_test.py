"""The question answerer: logits of two positions and their loss."""

import keras
import numpy as np
import pytest

from albert_keras.models import AlbertBackbone, AlbertQuestionAnswerer
from tests.helpers import make_config, make_inputs

INPUTS = make_inputs()


def make_answerer(dtype=None, **arguments):
    backbone = AlbertBackbone(**make_config(num_layers=1).to_dict(), dtype=dtype)
    return AlbertQuestionAnswerer(backbone, **arguments)


def test_loss_is_the_mean_of_both_positions():
    answerer = make_answerer()
    answerer.compile()
    labels = {
        "start_logits": np.array([0, 2, 4, 1, 3]),
        "end_logits": np.array([5, 2, 5, 4, 3]),
    }
    logs = answerer.evaluate(INPUTS, labels, return_dict=True, verbose=0)
    logits = answerer(INPUTS)
    losses = [
        float(
            keras.ops.mean(
                keras.losses.sparse_categorical_crossentropy(
                    labels[name], logits[name], from_logits=True
                )
            )
        )
        for name in labels
    ]
    assert logs["loss"] == pytest.approx(sum(losses) / 2, rel=1e-6)
    assert {"start_logits_accuracy", "end_logits_accuracy"} <= logs.keys()
