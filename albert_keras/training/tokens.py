"""Number of tokens per step, padding included."""


def tokens_per_step(dataset, num_shards=1):
    """Returns the number of positions of a batch, or None where it is not fixed.

    Args:
        dataset: `tf.data.Dataset` of tuples whose first element is a dict with
            `token_ids` `(batch, sequence_length)`; for others the result is None.
        num_shards: int > 0. Workers, each with as many rows of a batch.
    """
    spec = getattr(dataset, "element_spec", None)
    features = spec[0] if isinstance(spec, tuple) else None
    if not isinstance(features, dict) or "token_ids" not in features:
        return None
    positions = features["token_ids"].shape.num_elements()
    return positions and positions * num_shards
