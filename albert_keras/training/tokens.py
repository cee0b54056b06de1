"""How many tokens a step has, padding included."""


def tokens_per_step(dataset, num_shards=1):
    """Returns the positions of a batch, or `None` where its size is not fixed.

    Args:
        dataset: `tf.data.Dataset` of tuples of features, a dict with `token_ids` `(batch,
            sequence_length)`, and the rest; of anything else nothing is known.
        num_shards: int > 0. Workers that have as many rows of the batch each.
    """
    spec = getattr(dataset, "element_spec", None)
    features = spec[0] if isinstance(spec, tuple) else None
    if not isinstance(features, dict) or "token_ids" not in features:
        return None
    positions = features["token_ids"].shape.num_elements()
    return positions and positions * num_shards
