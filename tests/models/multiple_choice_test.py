"""Multiple choice: scores of independent texts."""

import numpy as np

from albert_keras.models import (
    AlbertBackbone,
    AlbertMultipleChoice,
    AlbertTextClassifier,
)
from tests.helpers import make_config, make_inputs, max_difference

NUM_CHOICES = 4
INPUTS = {
    name: value.reshape(3, NUM_CHOICES, 13) for name, value in make_inputs(12).items()
}


def make_chooser(dtype=None, **arguments):
    backbone = AlbertBackbone(**make_config(num_layers=1).to_dict(), dtype=dtype)
    return AlbertMultipleChoice(backbone, **arguments)


def test_scores_do_not_depend_on_other_choices():
    chooser = make_chooser()
    scorer = AlbertTextClassifier(chooser.backbone, num_classes=1)
    scorer.output_dense.set_weights(chooser.output_dense.get_weights())
    rows = {name: value.reshape(12, 13) for name, value in INPUTS.items()}
    scores = np.array(scorer(rows)).reshape(3, NUM_CHOICES)
    assert max_difference(chooser(INPUTS), scores) < 1e-6
