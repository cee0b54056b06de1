"""Multiple choice: scores of independent texts."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import (
    AlbertBackbone,
    AlbertMultipleChoice,
    AlbertTextClassifier,
)
from tests.helpers import make_config, make_inputs, max_difference, run_model_test

NUM_CHOICES = 4
INPUTS = {
    name: value.reshape(3, NUM_CHOICES, 13) for name, value in make_inputs(12).items()
}


def make_chooser(dtype=None, **arguments):
    backbone = AlbertBackbone(**make_config(num_layers=1).to_dict(), dtype=dtype)
    return AlbertMultipleChoice(backbone, **arguments)


@pytest.mark.slow
def test_one_result_however_used(tmp_path):
    run_model_test(make_chooser, INPUTS, (3, NUM_CHOICES), tmp_path)


def test_scores_do_not_depend_on_other_choices():
    chooser = make_chooser()
    scorer = AlbertTextClassifier(chooser.backbone, num_classes=1)
    scorer.output_dense.set_weights(chooser.output_dense.get_weights())
    rows = {name: value.reshape(12, 13) for name, value in INPUTS.items()}
    scores = np.array(scorer(rows)).reshape(3, NUM_CHOICES)
    assert max_difference(chooser(INPUTS), scores) < 1e-6


@pytest.mark.slow
def test_learns_which_choice_is_right():
    keras.utils.set_random_seed(3)
    chooser = make_chooser(dropout=0.0)
    chooser.compile(keras.optimizers.Adam(0.01))
    labels = np.array([2, 0, 3])
    batches = tf.data.Dataset.from_tensors((INPUTS, labels))
    keras.Model.fit(chooser, batches.repeat(40), shuffle=False, verbose=0)
    assert chooser.evaluate(batches, return_dict=True, verbose=0)["accuracy"] == 1.0
