"""The mean of the tokens of texts."""

import numpy as np
import tensorflow as tf

from albert_keras.export.text.embeddings import with_mean_output
from tests.helpers import max_difference


def test_padding_is_no_part_of_the_mean():
    tokens = np.random.default_rng(3).normal(size=(2, 5, 7)).astype("float32")
    mask = tf.constant([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    run = with_mean_output(lambda padding_mask: {"sequence_output": tokens})
    outputs = run(padding_mask=mask)
    means = [tokens[0, :3].mean(axis=0), tokens[1].mean(axis=0)]
    assert max_difference(outputs["mean_output"], np.array(means)) < 1e-6
    assert outputs["sequence_output"] is tokens
