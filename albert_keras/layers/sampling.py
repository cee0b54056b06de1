"""Sampling of pieces from logits, the same however a batch is divided."""

import keras
from keras import ops

from albert_keras.layers.seeds import DrawnSeed


def sample_pieces(logits, seeds):
    """Samples a piece at each position from the softmax of its logits.

    The piece has the largest sum of logit and Gumbel noise. The noise of an example
    depends on its own seed alone, so that replicas and micro-batches sample as one device
    does. (On TensorFlow XLA draws other numbers than plain graphs.) No gradient flows
    back.

    Args:
        logits: Floats, `(batch, num_positions, vocabulary_size)`.
        seeds: int32 of at least 0, `(batch, 2)`.

    Returns:
        int32, `(batch, num_positions)`.

    Reference: Maddison et al. 2014, A* sampling, section 2; google-research/electra
    pretrain_helpers.py `sample_from_softmax`.
    """
    logits = ops.stop_gradient(logits)
    if keras.config.backend() == "jax":
        # Its keys are unsigned.
        return ops.vectorized_map(_sample_row, (logits, ops.cast(seeds, "uint32")))
    # Row by row, since TensorFlow cannot vectorize its stateless random numbers.
    return ops.map(_sample_row, (logits, seeds))


def _sample_row(row):
    logits, seed = row  # (num_positions, vocabulary_size), (2,)
    uniform = keras.random.uniform(
        ops.shape(logits),
        dtype=keras.backend.standardize_dtype(logits.dtype),
        seed=DrawnSeed(seed),
    )
    gumbel = -ops.log(-ops.log(uniform))
    return ops.cast(ops.argmax(logits + gumbel, axis=-1), "int32")
