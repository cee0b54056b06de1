"""Delivery of NumPy batches to `fit` on each Keras backend."""

import collections
import concurrent.futures
import itertools

import keras
from keras import tree

_NUM_AHEAD = 2


def deliver(batches_from, spec, num_batches=None):
    """Returns a dataset for `fit` of batches that Python code makes.

    On TensorFlow it is a `tf.data.Dataset`, for any `tf.distribute` strategy; on other
    backends a `keras.utils.PyDataset`, which needs no TensorFlow. A thread makes two
    batches ahead. Both datasets have an `element_spec`.

    Args:
        batches_from: Function from a number of batches to skip to an iterator of the
            others, nested NumPy arrays.
        spec: Shapes and types of the batches, nested `keras.KerasTensor`.
        num_batches: int, or `None` for endless batches.
    """
    if keras.config.backend() == "tensorflow":
        return _tensorflow_dataset(batches_from, spec, num_batches)
    return ArrayBatches(batches_from, spec, num_batches)


class ArrayBatches(keras.utils.PyDataset):
    """Batches by number; consecutive batches are made ahead.

    Arguments are those of `deliver`.
    """

    num_batches = None  # Keras has a property.

    def __init__(self, batches_from, spec, num_batches):
        super().__init__()
        self.element_spec = spec
        self._batches_from = batches_from
        self.num_batches = num_batches
        self._next, self._batches = None, None

    def map(self, function):
        """Applies a function to the parts of each batch, as `tf.data.Dataset.map`."""

        def batches_from(num_skipped):
            return itertools.starmap(function, self._batches_from(num_skipped))

        return ArrayBatches(
            batches_from, function(*self.element_spec), self.num_batches
        )

    def __getitem__(self, index):
        if index != self._next:
            self._batches = _made_ahead(self._batches_from(index))
        self._next = index + 1
        return next(self._batches)


def _made_ahead(batches):
    """Yields the items of an iterator, which a thread computes before they are needed."""
    end = object()
    with concurrent.futures.ThreadPoolExecutor(1) as thread:

        def request():
            return thread.submit(next, batches, end)

        waiting = collections.deque(request() for _ in range(_NUM_AHEAD))
        while (batch := waiting.popleft().result()) is not end:
            waiting.append(request())
            yield batch


def _tensorflow_dataset(batches_from, spec, num_batches):
    import tensorflow as tf

    batches = tf.data.Dataset.from_generator(
        lambda: batches_from(0),
        output_signature=tree.map_structure(
            lambda leaf: tf.TensorSpec(leaf.shape, leaf.dtype), spec
        ),
    )
    options = tf.data.Options()
    # The autotuner's thread sleeps for up to a minute, and deleting an iterator often
    # waits for it: ten seconds after a `fit` of ten seconds (TensorFlow 2.21).
    options.autotune.enabled = False
    # Keras warns if a dataset of unknown cardinality ends.
    sized = tf.data.experimental.assert_cardinality(
        tf.data.INFINITE_CARDINALITY if num_batches is None else num_batches
    )
    return batches.apply(sized).with_options(options).prefetch(_NUM_AHEAD)
