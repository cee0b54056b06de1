"""Loss weights that sum to 1 over the whole batch; division of a batch into parts."""

import functools
from typing import Any, NamedTuple

import keras
from keras import ops, tree


class GlobalWeights(NamedTuple):
    """Weights of a batch, or of a part of it, as shares of the whole batch.

    Args:
        weights: Dict of tensors by output name; each sums to 1 over the whole batch.
        num_examples: Scalar. Number of rows of the whole batch with a positive weight.
    """

    weights: dict
    num_examples: Any

    @property
    def share_of_examples(self):
        """Scalar. The part's share of the rows with a positive weight."""
        return ops.divide_no_nan(num_weighted_rows(self.weights), self.num_examples)


def global_weights(targets, sample_weight, sum_over_replicas):
    """Divides the weights of each target by their sum over the whole batch.

    Args:
        targets: Dict of tensors by output name, `(batch, ...)`.
        sample_weight: `None` for equal weights; one tensor for all targets; or a dict
            of either by output name.
        sum_over_replicas: Function from a list of scalars to a list of their sums over
            the replicas that share the batch.

    Returns:
        `GlobalWeights` of all targets.
    """
    if not isinstance(sample_weight, dict):
        sample_weight = dict.fromkeys(targets, sample_weight)
    if not sample_weight.keys() <= targets.keys():
        raise ValueError(
            "Sample weights must have the names of targets. Received: "
            f"weights {', '.join(sample_weight)} for {', '.join(targets)}."
        )
    weights = {
        name: _as_weights(sample_weight.get(name), target)
        for name, target in targets.items()
    }
    sums = [*map(ops.sum, weights.values()), num_weighted_rows(weights)]
    *totals, num_examples = sum_over_replicas(sums)
    # If all weights are 0, the loss is 0, not 0 / 0.
    shares = map(ops.divide_no_nan, weights.values(), totals)
    return GlobalWeights(dict(zip(weights, shares, strict=True)), num_examples)


def _as_weights(weight, target):
    if weight is None:
        return ops.ones(ops.shape(target)[:1], keras.config.floatx())
    weight = ops.cast(weight, keras.config.floatx())
    # `fit` turns vectors into columns when it gets arrays.
    is_column = len(weight.shape) > 1 and weight.shape[-1] == 1
    return ops.squeeze(weight, -1) if is_column else weight


def num_weighted_rows(weights):
    """Returns how many rows of a dict of `(batch, ...)` weights have one above 0."""
    weighted = [
        ops.any(weight > 0, axis=tuple(range(1, len(weight.shape))))
        for weight in weights.values()
    ]
    rows = functools.reduce(ops.logical_or, weighted)
    return ops.sum(ops.cast(rows, keras.config.floatx()))


def update_mean(mean, value, shares):
    """Adds a loss to its running mean over examples.

    Args:
        mean: `keras.metrics.Mean`.
        value: Scalar. The contribution of a part to the loss of the whole batch.
        shares: `GlobalWeights` of the part.
    """
    share = shares.share_of_examples
    value = ops.divide_no_nan(value, share)
    mean.update_state(value, sample_weight=share * shares.num_examples)


def split_batch(data, num_parts):
    """Divides nested tensors into parts: rows 0, n, 2n, ..., then 1, n + 1, ...

    With strides, the rows of a batch that is sharded over devices stay on their device.
    `None` in place of a tensor is kept.
    """
    batch = tree.flatten(data)[0].shape[0]
    if batch is not None and batch < num_parts:
        raise ValueError(
            "A batch must have a row for each micro-batch on every replica. "
            f"Received: {batch} rows on a replica, micro_batches={num_parts}."
        )
    if num_parts == 1:
        return [data]

    def rows_from(start):
        return tree.map_structure(
            lambda x: None if x is None else x[start::num_parts], data
        )

    return [rows_from(start) for start in range(num_parts)]
