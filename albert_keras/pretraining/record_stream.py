"""Stream of examples from record files, in a new order in each epoch."""

import itertools

import numpy as np

from albert_keras.pretraining.records import feature_shapes, parse_batch
from albert_keras.pretraining.stream import in_batches
from albert_keras.pretraining.tfrecord import read_records


class RecordStream:
    """Stream of the examples of record files, with the methods of `ExampleStream`.

    An epoch shuffles the runs of 4,096 records, and the examples within each run. Both
    orders depend on the seed and the epoch alone, so the stream can begin anywhere: runs
    before that are not read.

    Args:
        index: `RecordIndex`.
        seed: int >= 0, or None for the order of the files.
    """

    def __init__(self, index, seed=None):
        self._index = index
        self._seed = seed

    def count_examples(self):
        """Returns the number of examples of one epoch."""
        return self._index.num_examples

    def empty_batch(self):
        """Returns a batch of no examples, with the shapes and types of all arrays."""
        features = feature_shapes(self._index.sizes)
        return {name: np.empty((0, *shape), dtype) for name, shape, dtype in features}

    def batches(self, batch_size, start=0, num_epochs=None):
        """Returns an iterator of batches; see `ExampleStream.batches`."""
        return in_batches(self._groups(start, num_epochs), batch_size)

    def _groups(self, skipped, num_epochs):
        """Yields the examples of each run, without the first `skipped` examples."""
        first_epoch, skipped = divmod(skipped, self._index.num_examples)
        epochs = itertools.count() if num_epochs is None else range(num_epochs)
        for epoch in itertools.islice(epochs, first_epoch, None):
            for run in self._order(len(self._index.counts), epoch):
                if skipped >= self._index.counts[run]:
                    skipped -= self._index.counts[run]
                    continue
                examples = self._read_run(run)
                order = self._order(self._index.counts[run], epoch, run)[skipped:]
                yield {name: values[order] for name, values in examples.items()}
                skipped = 0

    def _read_run(self, run):
        paths, offsets, counts, sizes = self._index
        return parse_batch(
            [*read_records(paths[run], offsets[run], counts[run])], sizes
        )

    def _order(self, size, epoch, run=None):
        """Returns the order of the runs of an epoch, or of the examples of one run."""
        if self._seed is None:
            return np.arange(size)
        import tensorflow as tf

        # Not NumPy's generators: runs that were begun with earlier versions go on.
        with tf.device("CPU"):
            key = tf.constant([self._seed, epoch], tf.int64)
            if run is not None:
                key = tf.random.fold_in(key, np.int64(run))
            order = tf.random.experimental.stateless_shuffle(tf.range(size), key)
            return order.numpy()
