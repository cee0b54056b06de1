"""The heads of spans: one result however used, what is masked, and the best of many."""

import functools

import keras
import numpy as np
import pytest

from albert_keras.layers import EndLogits, MostProbable, StartLogits, UnanswerableLogit
from tests.helpers import make_config, max_difference, randomize

RANDOM = np.random.default_rng(5)
TOKENS = RANDOM.normal(size=(5, 13, 28)).astype("float32")
STARTS = RANDOM.integers(0, 11, (5, 3), "int32")
ANYWHERE = np.ones((5, 13), "int32")
PROBABILITIES = RANDOM.dirichlet(np.ones(13), 5).astype("float32")
HEADS = {
    StartLogits: ({"tokens": TOKENS, "answer_mask": ANYWHERE}, (5, 13)),
    EndLogits: (
        {"tokens": TOKENS, "start_positions": STARTS, "answer_mask": ANYWHERE},
        (5, 3, 13),
    ),
    functools.partial(UnanswerableLogit, dropout=0.3): (
        {"tokens": TOKENS, "start_probabilities": PROBABILITIES},
        (5, 1),
    ),
}


@pytest.mark.parametrize("head", [StartLogits, EndLogits])
def test_masked_logits_are_improbable_and_change_no_others(head):
    inputs, _ = HEADS[head]
    # Where -1e30 would be infinite.
    layer = head(make_config(), dtype="float16")
    layer(**inputs)
    randomize(layer)
    mask = np.arange(13) % 3 != 1
    masked = np.array(layer(**{**inputs, "answer_mask": mask * ANYWHERE}))
    assert (masked[..., ~mask] == np.float32(-1e30)).all()
    masked = masked[..., mask]
    assert max_difference(masked, np.array(layer(**inputs))[..., mask]) == 0.0


@pytest.mark.parametrize(("number", "found"), [(4, 4), (17, 13)])
def test_most_probable_come_first_and_all_where_there_are_fewer(number, found):
    logits = RANDOM.permutation(5 * 13).reshape(5, 13).astype("float32")
    # In half precision the masked one would be infinite.
    logits[2, 7] = -1e30
    layer = MostProbable(number, dtype="mixed_float16")
    restored = keras.layers.deserialize(keras.layers.serialize(layer))
    log_probs, positions = restored(logits)
    order = np.argsort(-logits, axis=1)[:, :found]
    assert (np.array(positions) == order).all()
    assert keras.backend.standardize_dtype(positions.dtype) == "int32"
    expected = logits - np.log(np.exp(logits.astype("float64")).sum(1, keepdims=True))
    expected = np.take_along_axis(expected, order, axis=1)
    assert np.array(log_probs) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_number_must_be_positive():
    with pytest.raises(ValueError, match="Received: num_positions=0"):
        MostProbable(0)
