"""The heads of masked words and exits, against their formulas."""

import keras
import numpy as np

from albert_keras.layers import ExitHeads, MaskedLMHead
from tests.helpers import make_config, max_difference, randomize

RANDOM = np.random.default_rng(3)
INPUTS = {
    "sequence_output": RANDOM.normal(size=(5, 13, 28)).astype("float32"),
    "mask_positions": RANDOM.integers(0, 11, (5, 6), "int32"),
}


def make_head(dtype=None, **overrides):
    embedding = keras.layers.ReversibleEmbedding(61, 9, dtype=dtype)
    embedding.build((None, None))
    return MaskedLMHead(make_config(**overrides), embedding, dtype=dtype)


def test_gather_transform_normalize_and_tied_table():
    head = make_head(activation="relu")
    head(**INPUTS)
    randomize(head)
    values = {v.path.split("/", 1)[1]: v.numpy() for v in head.trainable_variables}
    rows = np.arange(5)[:, np.newaxis]
    x = INPUTS["sequence_output"][rows, INPUTS["mask_positions"]]
    x = np.maximum(x @ values["transform/kernel"] + values["transform/bias"], 0.0)
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12)
    x = x * values["layer_norm/gamma"] + values["layer_norm/beta"]
    expected = x @ values["embeddings"].T + values["output_bias"]
    assert max_difference(head(**INPUTS), expected) < 1e-5


def test_each_exit_has_a_dense_layer():
    head = ExitHeads(make_config(), num_classes=3)
    x = INPUTS["sequence_output"]
    head(x)
    kernel, bias = (weight.numpy() for weight in randomize(head).weights)
    expected = np.stack([x[:, i] @ kernel[i] + bias[i] for i in range(13)], axis=1)
    assert expected.shape == (5, 13, 3)
    assert max_difference(head(x), expected) < 1e-5
