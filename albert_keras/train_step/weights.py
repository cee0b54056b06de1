"""Loss weights that sum to 1 over the whole batch, and division of a batch in parts."""

import functools
from typing import Any, NamedTuple

from keras import ops, tree


class GlobalWeights(NamedTuple):
    """Weights of a part of the batch, as shares of the whole one.

    Args:
        weights: Tensor, or a dict of them by output name; over the whole batch each sums
            to 1.
        num_examples: Scalar. Number of examples of the whole batch.
        num_parts: int. Number of parts of each replica's batch.
    """

    weights: Any
    num_examples: Any
    num_parts: int = 1


def global_weights(targets, sample_weight, dtype, sum_over_replicas):
    """Divides the weights of each target by their sum over the whole batch.

    Args:
        targets: Tensor, or a dict of them by output name, `(batch, ...)`.
        sample_weight: `None` for equal weights; one tensor for all targets; or a dict
            of either by output name.
        dtype: str. Type of the returned weights.
        sum_over_replicas: Function from a list of scalars to a list of their sums over
            the replicas that share the batch.

    Returns:
        `GlobalWeights` in the structure of `targets`.
    """
    if isinstance(targets, dict):
        if not isinstance(sample_weight, dict):
            sample_weight = dict.fromkeys(targets, sample_weight)
        if not sample_weight.keys() <= targets.keys():
            raise ValueError(
                "Sample weights must have the names of targets. Received: "
                f"weights {', '.join(sample_weight)} for {', '.join(targets)}."
            )
        weights = {
            name: _as_weights(sample_weight.get(name), target, dtype)
            for name, target in targets.items()
        }
    else:
        weights = _as_weights(sample_weight, targets, dtype)
    num_examples = ops.cast(num_rows(targets), dtype)
    sums = [ops.sum(weight) for weight in tree.flatten(weights)]
    *totals, num_examples = sum_over_replicas([*sums, num_examples])
    # The loss of a batch without any weight is 0, not 0 / 0.
    totals = [ops.where(total > 0, total, 1.0) for total in totals]
    totals = tree.pack_sequence_as(weights, totals)
    weights = tree.map_structure(lambda weight, total: weight / total, weights, totals)
    return GlobalWeights(weights, num_examples)


def _as_weights(weight, target, dtype):
    if weight is None:
        return ops.ones(ops.shape(target)[:1], dtype)
    weight = ops.cast(weight, dtype)
    # `fit` on arrays turns vectors into columns.
    is_column = len(weight.shape) == len(target.shape) + 1 and weight.shape[-1] == 1
    return ops.squeeze(weight, -1) if is_column else weight


def num_rows(data):
    """Returns the number of rows of nested tensors `(batch, ...)`."""
    return ops.shape(tree.flatten(data)[0])[0]


def num_weighted_rows(weights):
    """Returns the number of rows of nested weights `(batch, ...)` with one above 0."""
    weighted = [
        ops.any(ops.reshape(weight, (num_rows(weight), -1)) > 0, axis=1)
        for weight in tree.flatten(weights)
    ]
    return ops.sum(functools.reduce(ops.logical_or, weighted))


def part_scale(part, x, num_replicas):
    """Returns the factor from the loss of a part, as a batch of its own, to its share.

    Keras keeps means of the losses of single outputs. It weights the loss of each part by
    the part's number of examples where the graph knows it, else by 1. The scale makes
    the mean over the parts the loss of the whole batch.

    Args:
        part: `GlobalWeights` of the part.
        x: Features of the part.
        num_replicas: int. Keras multiplies a loss by it before it enters the mean.
    """
    if tree.flatten(x)[0].shape[0] is None:
        return ops.cast(1 / part.num_parts, part.num_examples.dtype)
    rows = ops.cast(num_rows(x), part.num_examples.dtype)
    return rows * num_replicas / part.num_examples


def split_batch(data, num_parts):
    """Divides nested tensors into parts: rows 0, n, 2n, ..., then 1, n + 1, ...

    Strides rather than blocks, so that the rows of a batch that is sharded over devices
    stay on their device. Leaves that are `None` stay so.
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
