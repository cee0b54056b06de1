"""Hidden states of packed texts at every depth, batch by batch."""

import numpy as np


def check_keeps_positions(backbone):
    """Raises a ValueError if a backbone drops positions between its layers."""
    shares = backbone.albert_config.keep_positions
    if any(share < 1 for share in shares):
        raise ValueError(
            "Layers are compared on the same positions. Received: a backbone with "
            f"keep_positions={shares}. Pass `change_architecture(backbone, "
            "keep_positions=())`."
        )


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
        backbone: `AlbertBackbone`, without `keep_positions`.
        examples, batch_size: See `batches_by_length`.

    Yields:
        Tuples of the rows of a batch, int `(batch,)`; its states, a list of arrays
        `(batch, length, hidden_dim)`, the projected embedding first and then the output
        of each layer applied; and bool `(batch, length)`, which tokens are real.
    """
    from albert_keras.train_step import infer

    check_keeps_positions(backbone)
    model = backbone.with_outputs(hidden_states=True)
    for rows, features in batches_by_length(examples, batch_size):
        states = infer(model, features)["hidden_states"]
        yield rows, states, features["padding_mask"].astype(bool)
