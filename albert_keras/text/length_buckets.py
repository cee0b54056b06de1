"""Batches of examples of similar length: few shapes, with similar numbers of tokens."""

import dataclasses
import itertools

import numpy as np

from albert_keras.checks import check_text

# Each at most 1.5 times the one before; the long ones, which cost most, at most 1.25
# times. 6 % of the tokens of IMDB's reviews are padding with these 15 lengths.
LENGTHS = (
    *(16, 24, 32, 48, 64, 96, 128),
    *(160, 192, 224, 256, 320, 384, 448, 512),
)

# Of English text, about.
_CHARACTERS_A_TOKEN = 4

# Factors of the tokens of a batch to try, nearest to 1 first, because batch sizes are
# rounded.
_SCALES = np.array(sorted(np.geomspace(0.5, 2.0, 201), key=lambda x: abs(np.log(x))))


@dataclasses.dataclass(frozen=True)
class LengthBuckets:
    """Lengths of batches in tokens, ascending, and a batch size for each."""

    lengths: tuple
    batch_sizes: tuple

    def find(self, lengths):
        """Returns the shortest bucket of each length, by number, `(num_examples,)`."""
        return np.searchsorted(self.lengths, lengths)


def make_buckets(lengths, sequence_length, batch_size, *, multiple=1):
    """Returns `LengthBuckets` whose batches have about the same number of tokens.

    Args:
        lengths: int array `(num_examples,)`. Tokens of the examples.
        sequence_length: int. Length of the longest bucket.
        batch_size: int. Mean number of examples in a batch, as near as integers allow.
        multiple: int. Batch sizes are multiples of it, as replicas and micro-batches
            need.

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


def one_bucket(sequence_length, batch_size):
    """Returns `LengthBuckets` of a single length, which TPUs need."""
    return LengthBuckets((sequence_length,), (batch_size,))


def training_batches(lengths, buckets, seed):
    """Yields the rows of endless batches, in an order that depends on the seed alone.

    Each epoch adds all examples in a new order to their buckets; a full bucket becomes a
    batch. At the end of an epoch the remaining examples move to longer buckets; less
    than one batch of the longest bucket remains for the next epoch.

    Takes the examples' lengths, int array `(num_examples,)`, and `LengthBuckets`; yields
    tuples of the rows of a batch, a list of int, and the length to pad them to.
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
    """Yields batches of one pass in the order of length, as `training_batches` does.

    The last batch of each bucket is smaller.
    """
    in_order = np.argsort(lengths, kind="stable")
    bucket_of = buckets.find(lengths[in_order])
    for bucket, length in enumerate(buckets.lengths):
        rows, size = in_order[bucket_of == bucket], buckets.batch_sizes[bucket]
        for start in range(0, len(rows), size):
            yield rows[start : start + size], length


def shuffled_batches(lengths, batch_size, random):
    """Returns the rows of the batches of an epoch: of similar length, in random order.

    Each row is in one batch. All batches are of one size but the last one, whose rows are
    of any length.

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
    """Yields the rows of batches of texts of similar length, which are not tokenized.

    Their tokens are estimated by their characters.

    Args:
        columns: A list of str, or several, of texts that are packed together.
        batch_size: int. Texts in a batch, on average.
    """
    num_characters = np.sum([[*map(len, column)] for column in columns], axis=0)
    # Much longer texts than a row of the longest bucket are truncated by models.
    lengths = np.minimum(num_characters // _CHARACTERS_A_TOKEN, LENGTHS[-1])
    buckets = make_buckets(lengths, LENGTHS[-1], batch_size)
    for rows, _ in evaluation_batches(lengths, buckets):
        yield rows


def in_text_batches(call, columns, batch_size):
    """Returns the outputs of a function, called with batches of texts of similar length.

    Args:
        call: Function from a list of columns to a dict of arrays `(rows, ...)`.
        columns: List of lists of str, or of lists of str, of the same length.
        batch_size: int. Rows of a batch, on average.

    Returns:
        Dict of arrays `(num_rows, ...)`, as of `join_batches`.

    Raises:
        TypeError, ValueError: If a text is not one, see `check_text`.
    """
    texts = [[*map(_joined, column)] for column in columns]
    for text in itertools.chain(*texts):
        check_text(text)
    # One row, as in most requests, needs no order.
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
    """Returns outputs of batches as one array, in the order of the rows.

    Args:
        batches: List of the rows of each batch: all of `range(num_rows)`.
        outputs: List of arrays `(batch, ...)`. Axes that differ, such as that of tokens,
            are padded with zeros at the end, or empty strings.

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
    """Returns endless batches for `model.fit` that depend on seed and step alone.

    Args:
        examples: `Examples`.
        buckets: `LengthBuckets`. With a single one the batches' shapes are static.
        assemble: Function from a batch of `Examples.padded` to what `fit` takes: tuples
            of features, targets and maybe weights.
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
