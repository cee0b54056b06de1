"""How many tokens a step has, padding included."""


def tokens_per_step(dataset):
    """Returns the positions of a batch, or `None` where its size is not fixed.

    Args:
        dataset: `tf.data.Dataset` of tuples of features, a dict with `token_ids` `(batch,
            sequence_length)`, and the rest; of anything else nothing is known.
    """
    spec = getattr(dataset, "element_spec", None)
    features = spec[0] if isinstance(spec, tuple) else None
    if not isinstance(features, dict) or "token_ids" not in features:
        return None
    return features["token_ids"].shape.num_elements()
