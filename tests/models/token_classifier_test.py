"""The token classifier: classes of tokens, and tokens without weight."""

import numpy as np
import pytest

from albert_keras.models import AlbertBackbone, AlbertTokenClassifier
from tests.helpers import make_config, make_inputs

INPUTS = make_inputs()


def make_tagger(dtype=None, num_classes=7, **arguments):
    backbone = AlbertBackbone(**make_config(num_layers=1).to_dict(), dtype=dtype)
    return AlbertTokenClassifier(backbone, num_classes=num_classes, **arguments)


def test_a_number_of_classes_that_is_none_is_refused():
    with pytest.raises(ValueError, match="positive integer. Received: num_classes=0"):
        make_tagger(num_classes=0)


def test_tokens_without_weight_have_no_loss():
    tagger = make_tagger(dropout=0.0)
    tagger.compile()
    labels = np.array(tagger(INPUTS)).argmax(-1)
    weights = INPUTS["padding_mask"].astype("float32")
    wrong = np.where(weights > 0, labels, (labels + 1) % 7)
    logs = [
        tagger.evaluate(INPUTS, y, sample_weight=weights, return_dict=True, verbose=0)
        for y in (labels, wrong)
    ]
    assert logs[0] == pytest.approx(logs[1], rel=1e-6)
    assert logs[0]["accuracy"] == 1.0
