"""Batches of examples of like length: few shapes, as many tokens in each."""

import dataclasses
import itertools

import numpy as np

from albert_keras.text.delivery import deliver

# Each at most half as long again as the one before, and of the long ones, which cost
# most, a quarter: of IMDB's reviews 6 % of the tokens are padding so. A model has
# fifteen shapes up to 512.
LENGTHS = (
    *(16, 24, 32, 48, 64, 96, 128),
    *(160, 192, 224, 256, 320, 384, 448, 512),
)

# What a batch's number of tokens is tried at, the nearest first, to make up for the
# rounding of its number of examples.
_SCALES = np.array(sorted(np.geomspace(0.5, 2.0, 201), key=lambda x: abs(np.log(x))))


@dataclasses.dataclass(frozen=True)
class LengthBuckets:
    """Shapes of batches: a length in tokens and a number of examples for each.

    Args:
        lengths: Tuple of int, rising.
        batch_sizes: Tuple of int, one a length.
    """

    lengths: tuple
    batch_sizes: tuple

    def find(self, lengths):
        """Returns the bucket of examples: the shortest in which each fits.

        Args:
            lengths: int array `(num_examples,)`.

        Raises:
            ValueError: If an example is longer than the longest bucket.
        """
        if len(lengths) and lengths.max() > self.lengths[-1]:
            raise ValueError(
                "An example must fit in the longest bucket. "
                f"Received: {lengths.max()} tokens for {self.lengths[-1]}. "
                "Truncate it."
            )
        return np.searchsorted(self.lengths, lengths)


def make_buckets(lengths, sequence_length, batch_size, *, multiple=1):
    """Chooses buckets whose batches hold about as many tokens each.

    That number is such that batches hold `batch_size` examples on average, as nearly as
    whole ones allow: an epoch has as many steps as one of equal batches, and a recipe's
    batch keeps its meaning.

    Args:
        lengths: int array `(num_examples,)`, in tokens. Of the examples to be batched.
        sequence_length: int. The longest that examples may be.
        batch_size: int. Examples of a batch, on average.
        multiple: int. What batches' numbers of examples are multiples of, as replicas and
            micro-batches need it. Default 1.

    Returns:
        `LengthBuckets`.

    Raises:
        ValueError: If an example is longer than `sequence_length`.

    Example:

    >>> make_buckets(np.array([20] * 90 + [100] * 10), 128, batch_size=8).batch_sizes
    (17, 12, 9, 6, 4, 3, 2)
    """
    shapes = [length for length in LENGTHS if length < sequence_length]
    shapes = np.array([*shapes, sequence_length])
    bucket_of = LengthBuckets(tuple(shapes), ()).find(lengths)
    counts = np.bincount(bucket_of, minlength=len(shapes))
    tokens = batch_size * (counts @ shapes) / max(1, len(lengths))
    sizes = np.rint(tokens * _SCALES[:, np.newaxis] / shapes / multiple)
    sizes = np.maximum(1, sizes).astype(np.int64) * multiple
    num_batches = (counts / sizes).sum(axis=1)
    nearest = np.abs(num_batches - len(lengths) / batch_size).argmin()
    return LengthBuckets(tuple(shapes.tolist()), tuple(sizes[nearest].tolist()))


def one_bucket(sequence_length, batch_size):
    """Returns the `LengthBuckets` of padding to one length, which TPUs need."""
    return LengthBuckets((sequence_length,), (batch_size,))


def training_batches(lengths, buckets, seed):
    """Yields the rows of batches, endlessly, in an order that is a function of the seed.

    Each epoch goes through all examples in a new order. They wait in their bucket until
    it is full. What waits when an epoch ends is padded to longer ones, so that few are
    left: less than a batch of the longest, which go on waiting in the next epoch.

    Args:
        lengths: int array `(num_examples,)`, in tokens.
        buckets: `LengthBuckets`.
        seed: int.

    Yields:
        Tuples of the rows of a batch, a list of int, and the length to pad them to.
    """
    bucket_of = buckets.find(lengths).tolist()
    waiting = [[] for _ in buckets.lengths]
    for epoch in itertools.count():
        order = np.random.default_rng([seed, epoch]).permutation(len(lengths))
        for row in order.tolist():
            bucket = bucket_of[row]
            waiting[bucket].append(row)
            if len(waiting[bucket]) == buckets.batch_sizes[bucket]:
                yield waiting[bucket], buckets.lengths[bucket]
                waiting[bucket] = []
        yield from _move_up(waiting, buckets)


def _move_up(waiting, buckets):
    """Moves what waits to longer buckets, and yields those that become full."""
    for bucket in range(len(waiting) - 1):
        moved, waiting[bucket] = waiting[bucket], []
        for row in moved:
            waiting[bucket + 1].append(row)
            if len(waiting[bucket + 1]) == buckets.batch_sizes[bucket + 1]:
                yield waiting[bucket + 1], buckets.lengths[bucket + 1]
                waiting[bucket + 1] = []


def evaluation_batches(lengths, buckets):
    """Yields the rows of batches once each, by length; the last of a length is smaller.

    Args:
        lengths, buckets: As for `training_batches`.
    """
    bucket_of = buckets.find(lengths)
    for bucket, (length, size) in enumerate(
        zip(buckets.lengths, buckets.batch_sizes, strict=True)
    ):
        rows = np.flatnonzero(bucket_of == bucket)
        for start in range(0, len(rows), size):
            yield rows[start : start + size], length


def training_dataset(examples, buckets, assemble, seed, start_step=0):
    """Batches for `model.fit`: endless, and a function of seed and step.

    Args:
        examples: `Examples`.
        buckets: `LengthBuckets`.
        assemble: Function from a batch of `Examples.padded` to what `fit` takes: tuples
            of features, targets and maybe weights.
        seed: int >= 0.
        start_step: int >= 0. Batches to leave out at the start.

    Returns:
        `tf.data.Dataset`. With one bucket its shapes are static.

    Raises:
        ValueError: If there is no example, or one fits in no bucket.
    """
    import tensorflow as tf

    lengths = examples.lengths
    if not len(lengths):
        raise ValueError("Training needs at least one example. Received: none.")

    def batches():
        endless = training_batches(lengths, buckets, seed)
        for rows, length in itertools.islice(endless, start_step, None):
            yield assemble(examples.padded(rows, length))

    rows, length = next(training_batches(lengths, buckets, seed))
    first = assemble(examples.padded(rows, length))
    is_static = len(buckets.lengths) == 1

    def spec(array):
        shape = array.shape if is_static else (None,) * array.ndim
        return tf.TensorSpec(shape, array.dtype)

    generated = tf.data.Dataset.from_generator(
        batches, output_signature=tf.nest.map_structure(spec, first)
    )
    return deliver(generated, tf.data.INFINITE_CARDINALITY)
