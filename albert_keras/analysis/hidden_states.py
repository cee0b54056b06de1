"""Hidden states of packed texts at every depth, batch by batch."""

import numpy as np


def batches_by_length(examples, batch_size):
    """Yields the rows of batches of similar length, and each padded batch.

    Args:
        examples: `Examples`, as `pack_texts` returns them.
        batch_size: int. Rows of a batch; the last one has fewer.

    Yields:
        Tuples of int `(batch,)`, and a dict of arrays `(batch, length)`.
    """
    order = np.argsort(examples.lengths, kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        yield rows, examples.padded(rows, examples.lengths[rows].max())


def hidden_states(backbone, examples, batch_size):
    """Yields the hidden states of batches, at every depth.

    Args:
        backbone: `AlbertBackbone`.
        examples, batch_size: See `batches_by_length`.

    Yields:
        Tuples of the rows of a batch, int `(batch,)`; its states, a list of arrays
        `(batch, length, hidden_dim)`, the projected embedding first and then the output
        of each layer applied; and bool `(batch, length)`, which tokens are real.
    """
    from albert_keras.train_step import infer

    model = backbone.with_outputs(hidden_states=True)
    for rows, features in batches_by_length(examples, batch_size):
        states = infer(model, features)["hidden_states"]
        yield rows, states, features["padding_mask"].astype(bool)
