"""Biases of masks."""

import numpy as np
import pytest

from albert_keras.layers import attention_bias
from tests.helpers import make_inputs

MASK = make_inputs()["padding_mask"]


def test_bias_of_both_kinds_of_masks():
    bias = np.array(attention_bias(MASK))
    assert np.array_equal(bias[:, 0, 0], np.where(MASK == 1, 0.0, -10000.0))
    own = np.random.default_rng(5).integers(0, 2, (5, 13, 13)).astype(bool)
    expected = np.where(own, 0.0, -10000.0)
    assert np.array_equal(np.array(attention_bias(own))[:, 0], expected)


def test_mask_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"Received: shape .*5, 1, 13, 13"):
        attention_bias(np.ones((5, 1, 13, 13)))
