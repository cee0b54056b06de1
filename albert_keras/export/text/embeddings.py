"""Embeddings of texts: the outputs of a backbone, and their mean over the tokens."""

import tensorflow as tf


def with_mean_output(run):
    """Returns a function of a backbone's inputs that gives `mean_output` too.

    It is the mean of `sequence_output` over the tokens of each text, special tokens
    included, float32 `(batch, hidden_dim)`.

    Reference: Reimers and Gurevych 2019, section 3 (Sentence-BERT's MEAN strategy).
    """

    def run_with_mean(**features):
        outputs = run(**features)
        # (batch, length, 1); no row is without [CLS].
        mask = tf.expand_dims(tf.cast(features["padding_mask"], tf.float32), -1)
        sums = tf.reduce_sum(outputs["sequence_output"] * mask, axis=1)
        return {**outputs, "mean_output": sums / tf.reduce_sum(mask, axis=1)}

    return run_with_mean
