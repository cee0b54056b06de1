"""Batches of examples of similar length, with few shapes and about as many tokens."""

import dataclasses
import itertools

import numpy as np

from albert_keras.checks import check_text

# Each length is at most 1.5 times the one before; of the long ones, which cost most, 1.25
# times. With these 15 lengths, 6 % of the tokens of IMDB's reviews are padding.
LENGTHS = (
    *(16, 24, 32, 48, 64, 96, 128),
    *(160, 192, 224, 256, 320, 384, 448, 512),
)

# About the mean of English text.
_CHARACTERS_A_TOKEN = 4

# Factors to try for the tokens of a batch, nearest to 1 first, since batch sizes are
# rounded.
_SCALES = np.array(sorted(np.geomspace(0.5, 2.0, 201), key=lambda x: abs(np.log(x))))


@dataclasses.dataclass(frozen=True)
class LengthBuckets:
    """Lengths of batches in tokens, ascending, and a batch size for each."""

    lengths: tuple
    batch_sizes: tuple

    def find(self, lengths):
        """Returns the number of the shortest bucket of each length, `(num_examples,)`."""
        return np.searchsorted(self.lengths, lengths)


def make_buckets(lengths, sequence_length, batch_size, *, multiple=1):
    """Returns `LengthBuckets` whose batches have about the same number of tokens.

    Args:
        lengths: int array `(num_examples,)`. Tokens of the examples.
        sequence_length: int. Length of the longest bucket.
        batch_size: int. Mean number of examples in a batch, as near as integers allow.
        multiple: int. Batch sizes are multiples of it, for replicas and micro-batches.

    Example:

    >>> make_buckets(np.array([20] * 90 + [100] * 10), 128, batch_size=8).batch_sizes
    (17, 12, 9, 6, 4, 3, 2)
    """
    shapes = [length for length in LENGTHS if length < sequence_length]
    shapes = np.array([*shapes, sequence_length])  # (num_buckets,)
    bucket_of = LengthBuckets(tuple(shapes), ()).find(lengths)
    counts = np.bincount(bucket_of, minlength=len(shapes))
    tokens = batch_size * (counts @ shapes) / max(1, len(lengths))
    # (num_scales, num_buckets)
    sizes = np.rint(tokens * _SCALES[:, np.newaxis] / shapes / multiple)
    sizes = np.maximum(1, sizes).astype(np.int64) * multiple
    num_batches = (counts / sizes).sum(axis=1)
    nearest = np.abs(num_batches - len(lengths) / batch_size).argmin()
    return LengthBuckets(tuple(shapes.tolist()), tuple(sizes[nearest].tolist()))


def training_batches(lengths, buckets, seed):
    """Yields endless batches in an order that depends only on the seed.

    Each epoch adds all examples to their buckets in a new order; a full bucket becomes a
    batch. At the end of an epoch, the remaining examples move to longer buckets, so that
    less than a batch of the longest bucket remains for the next epoch.

    Args:
        lengths: int array `(num_examples,)`.
        buckets: `LengthBuckets`.
        seed: int >= 0.

    Yields:
        Tuples of the rows of a batch, a list of int, and the length to pad them to.
    """
    bucket_of = buckets.find(lengths).tolist()
    waiting = [[] for _ in buckets.lengths]

    def add(row, bucket):
        """Adds a row to a bucket; yields the bucket and empties it if it is full."""
        waiting[bucket].append(row)
        if len(waiting[bucket]) == buckets.batch_sizes[bucket]:
            yield waiting[bucket], buckets.lengths[bucket]
            waiting[bucket] = []

    for epoch in itertools.count():
        order = np.random.default_rng([seed, epoch]).permutation(len(lengths))
        for row in order.tolist():
            yield from add(row, bucket_of[row])
        for bucket in range(len(waiting) - 1):
            moved, waiting[bucket] = waiting[bucket], []
            for row in moved:
                yield from add(row, bucket + 1)


def evaluation_batches(lengths, buckets):
    """Yields the batches of one pass in the order of length, as `training_batches` does.

    The last batch of a bucket may be smaller.
    """
    in_order = np.argsort(lengths, kind="stable")
    bucket_of = buckets.find(lengths[in_order])
    for bucket, length in enumerate(buckets.lengths):
        rows, size = in_order[bucket_of == bucket], buckets.batch_sizes[bucket]
        for start in range(0, len(rows), size):
            yield rows[start : start + size], length


def shuffled_batches(lengths, batch_size, random):
    """Returns the rows of the batches of an epoch, with rows of similar length.

    Batches are in random order, and each row is in one batch. The last batch has the rest
    of the rows, of any length.

    Args:
        lengths: int array `(num_rows,)`.
        batch_size: int.
        random: `numpy.random.Generator`.
    """
    order = random.permutation(len(lengths))
    num_whole = len(order) // batch_size * batch_size
    rows = order[:num_whole]
    rows = rows[np.argsort(np.searchsorted(LENGTHS, lengths[rows]), kind="stable")]
    batches = random.permutation(rows.reshape(-1, batch_size))
    return [*batches, *filter(len, [order[num_whole:]])]


def text_batches(*columns, batch_size):
    """Yields the rows of batches of texts of similar length.

    The number of tokens is estimated from the characters.

    Args:
        columns: Lists of str. Texts of the same row are packed together.
        batch_size: int. Texts in a batch, on average.
    """
    num_characters = np.sum([[*map(len, column)] for column in columns], axis=0)
    # Models truncate texts that are longer than the longest bucket.
    lengths = np.minimum(num_characters // _CHARACTERS_A_TOKEN, LENGTHS[-1])
    buckets = make_buckets(lengths, LENGTHS[-1], batch_size)
    for rows, _ in evaluation_batches(lengths, buckets):
        yield rows


def in_text_batches(call, columns, batch_size):
    """Calls a function with batches of texts of similar length, and joins the outputs.

    Args:
        call: Function from a list of columns to a dict of arrays `(rows, ...)`.
        columns: List of columns of the same length, lists of str or of lists of str.
        batch_size: int. Rows of a batch, on average.

    Returns:
        Dict of arrays `(num_rows, ...)`; see `join_batches`.

    Raises:
        TypeError, ValueError: If a text is not valid; see `check_text`.
    """
    texts = [[*map(_joined, column)] for column in columns]
    for text in itertools.chain(*texts):
        check_text(text)
    # One row, as in most requests, needs no batches.
    if len(columns[0]) == 1:
        return call([[*column] for column in columns])
    batches = [*text_batches(*texts, batch_size=batch_size)]
    outputs = [
        call([[column[row] for row in rows] for column in columns]) for rows in batches
    ]
    return {
        name: join_batches(batches, [batch[name] for batch in outputs])
        for name in outputs[0]
    }


def _joined(value):
    return value if isinstance(value, str) else " ".join(value)


def join_batches(batches, outputs):
    """Joins the outputs of batches to one array, in the order of the rows.

    Args:
        batches: List of the rows of each batch, together `range(num_rows)`.
        outputs: List of arrays `(batch, ...)`. Axes of different size, such as that of
            tokens, are padded at the end with zeros or empty strings.

    >>> join_batches([[2, 0], [1]], [np.array([[5], [6]]), np.array([[7, 8]])])
    array([[6, 0],
           [7, 8],
           [5, 0]])
    """
    num_rows = sum(map(len, batches))
    shape = np.max([array.shape[1:] for array in outputs], axis=0).astype(int)
    joined = np.zeros((num_rows, *shape), np.result_type(*outputs))
    for rows, array in zip(batches, outputs, strict=True):
        joined[(rows, *map(slice, array.shape[1:]))] = array
    return joined


def training_dataset(examples, buckets, assemble, seed, start_step=0):
    """Returns endless batches for `model.fit` that depend only on seed and step.

    Args:
        examples: `Examples`.
        buckets: `LengthBuckets`. With a single length, batches have static shapes.
        assemble: Function from a batch of `Examples.padded` to a tuple for `fit`:
            features, targets and maybe weights.
        seed: int >= 0.
        start_step: int >= 0. Number of batches to skip.

    Raises:
        ValueError: If there is no example.
    """
    import keras
    from keras import tree

    from albert_keras.text.delivery import deliver

    lengths = examples.lengths
    if not len(lengths):
        raise ValueError("Training needs at least one example. Received: none.")

    def batches_from(skipped):
        endless = training_batches(lengths, buckets, seed)
        for rows, length in itertools.islice(endless, start_step + skipped, None):
            yield assemble(examples.padded(rows, length))

    rows, length = next(training_batches(lengths, buckets, seed))
    first = assemble(examples.padded(rows, length))
    is_static = len(buckets.lengths) == 1

    def spec(array):
        shape = array.shape if is_static else (None,) * array.ndim
        return keras.KerasTensor(shape, array.dtype)

    return deliver(batches_from, tree.map_structure(spec, first))
