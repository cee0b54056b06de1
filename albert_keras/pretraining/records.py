"""TFRecords of examples in the format of google-research/albert, for other programs.

The features have the names of its `create_pretraining_data.py`, so both programs can read
each other's files. TensorFlow writes and reads them.
"""

import errno
import itertools
import math

import numpy as np

from albert_keras.pretraining.examples import make_generator
from albert_keras.pretraining.stream import in_batches
from albert_keras.pretraining.token_store import read_description
from albert_keras.system.files import atomic_path
from albert_keras.system.storage import downloaded

# Names in this package and in the original; the last three are for filled rows only.
FEATURES = {
    "token_ids": "input_ids",
    "padding_mask": "input_mask",
    "segment_ids": "segment_ids",
    "word_starts": "token_boundary",
    "mask_positions": "masked_lm_positions",
    "mask_ids": "masked_lm_ids",
    "mask_weights": "masked_lm_weights",
    "sop_label": "next_sentence_labels",
    "sequence_ids": "sequence_ids",
    "pair_positions": "pair_positions",
    "sop_weight": "next_sentence_weights",
}
_OF_ORIGINAL = [*FEATURES.values()][:8]
# Records that are read, parsed and shuffled together: 14 MB at sequence length 512.
GROUP_RECORDS = 4096


def write_records(path, groups):
    """Writes examples, an iterable of dicts of arrays, to a TFRecord file atomically.

    Raises:
        OSError: If the disk is full.
    """
    import tensorflow as tf

    with atomic_path(path) as temporary:
        try:
            with tf.io.TFRecordWriter(str(temporary)) as writer:
                for example in itertools.chain.from_iterable(map(_serialize, groups)):
                    writer.write(example)
        except (tf.errors.ResourceExhaustedError, tf.errors.OutOfRangeError) as error:
            cause = error.message.rpartition("; ")[2]
            raise OSError(errno.ENOSPC, cause, str(path)) from error


def _serialize(arrays):
    """Yields the rows of a dict of arrays as serialized `tf.train.Example`s."""
    import tensorflow as tf

    names = [FEATURES[name] for name in arrays]
    for row in zip(*arrays.values(), strict=True):
        example = tf.train.Example()
        for name, values in zip(names, row, strict=True):
            feature = example.features.feature[name]
            is_float = values.dtype == np.float32
            numbers = feature.float_list if is_float else feature.int64_list
            numbers.value.extend(np.ravel(values).tolist())
        yield example.SerializeToString(deterministic=True)


class RecordStream:
    """Stream of the examples of TFRecord files, with the methods of `ExampleStream`.

    In each epoch the order of the files is new, and examples are shuffled in groups of
    4,096 from one file. Both orders depend only on the seed and the epoch. To start
    anywhere, all examples before are read and skipped. A file in an object store is
    copied while it is read.

    Args:
        paths: list of paths. The first record determines the features of all records.
        seed: int >= 0, or `None` to keep the order of the files.

    Raises:
        ValueError: If a file is truncated or corrupt, its features are not those of the
            first one, or there is no record.
    """

    def __init__(self, paths, seed=None):
        self._paths, self._seed = paths, seed
        self._spec = _read_spec(paths)

    def count_examples(self):
        """Returns the number of examples of one epoch."""
        return sum(len(records) for path in self._paths for records in _read(path))

    def empty_batch(self):
        """Returns a batch without examples, with the shapes and types of all arrays."""
        import tensorflow as tf

        arrays = self._parse(tf.constant([], tf.string))
        return {name: values.numpy() for name, values in arrays.items()}

    def batches(self, batch_size, start=0, stop=math.inf):
        """Returns an iterator of batches; see `ExampleStream.batches`."""
        return in_batches(self._groups(start, stop), batch_size)

    def _groups(self, start, stop):
        begin = 0
        for epoch in itertools.count():
            for file in self._order(len(self._paths), epoch):
                for number, arrays in enumerate(_read(self._paths[file], self._parse)):
                    size = len(arrays["token_ids"])
                    order = self._order(size, epoch, file, number)
                    order = order[max(start - begin, 0) : min(stop - begin, size)]
                    if order.size:
                        yield {name: values[order] for name, values in arrays.items()}
                    begin += size
                    if begin >= stop:
                        return

    def _order(self, size, *key):
        """Returns the order of the files in an epoch, or of the examples in a group."""
        if self._seed is None:
            return np.arange(size)
        return make_generator(self._seed, *key).permutation(size)

    def _parse(self, records):
        import tensorflow as tf

        parsed = tf.io.parse_example(records, self._spec)
        return {
            name: tf.cast(parsed[theirs], tf.float32 if "weight" in name else tf.int32)
            for name, theirs in FEATURES.items()
            if theirs in parsed
        }


def _read(path, parse=None):
    """Yields the examples of a file, some thousands at a time, serialized or parsed.

    Raises:
        ValueError: If the file is truncated or corrupt, or cannot be parsed.
    """
    import tensorflow as tf

    options = tf.data.Options()
    # The autotuner's thread sleeps, and deleting an iterator may wait for it.
    options.autotune.enabled = False
    with downloaded(path) as local:
        dataset = tf.data.TFRecordDataset(str(local)).with_options(options)
        dataset = dataset.batch(GROUP_RECORDS)
        try:
            yield from (dataset.map(parse) if parse else dataset).as_numpy_iterator()
        except tf.errors.OpError as error:
            raise ValueError(
                "A TFRecord file must be complete, with examples of one size. Received: "
                f"'{path}': {error.message.splitlines()[0]}. Copy or write it again."
            ) from error


def _read_spec(paths):
    """Returns the features of the first record, for `tf.io.parse_example`."""
    import tensorflow as tf

    groups = ((path, records) for path in paths for records in _read(path))
    path, records = next(groups, (None, None))
    if path is None:
        received = ", ".join(f"'{path}'" for path in paths)
        raise ValueError(f"`source` must have a record. Received: {received}, empty.")
    found = tf.train.Example.FromString(records[0]).features.feature
    if not found.keys() >= {*_OF_ORIGINAL}:
        raise ValueError(
            "Pretraining records must be `tf.train.Example`s with the features "
            f"{', '.join(_OF_ORIGINAL)}. "
            f"Received: '{path}', with {', '.join(sorted(found)) or 'none'}."
        )
    spec = {}
    for name in found.keys() & {*FEATURES.values()}:
        kind = found[name].WhichOneof("kind")
        shape = [len(getattr(found[name], kind).value)]
        if name == FEATURES["sop_label"] and "pair_positions" not in found:
            shape = []
        dtype = tf.float32 if kind == "float_list" else tf.int64
        spec[name] = tf.io.FixedLenFeature(shape, dtype)
    return spec


def shard_path(folder, index, num_shards):
    """Returns the path of a shard, such as `pretraining-00003-of-00016.tfrecord`."""
    return folder / f"pretraining-{index:05}-of-{num_shards:05}.tfrecord"


def find_shards(source):
    """Lists record files, in the given order.

    Args:
        source: Path of a folder or a file, or a list of paths of files. The files of a
            folder are those in its `dataset.json`, or without it all, sorted.

    Raises:
        FileNotFoundError: If a file does not exist, or a folder has no record files.
    """
    paths = source if isinstance(source, list) else [source]
    if paths == [source] and source.is_dir():
        described = read_description(source) or {"shards": ()}
        paths = [source / name for name in described["shards"]]
        paths = paths or sorted(source.glob("[!.]*.tfrecord"))
    missing = next((path for path in paths if not path.is_file()), None)
    if missing or not paths:
        raise FileNotFoundError(
            "`source` must have TFRecord files, and all shards of a set. "
            f"Missing: '{missing or f'{source}/*.tfrecord'}'."
        )
    return paths
