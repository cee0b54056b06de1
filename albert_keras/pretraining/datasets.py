"""`tf.data` pipelines of pretraining batches, for training and for validation."""

import contextlib
import dataclasses
import functools
import re

import numpy as np
import tensorflow as tf

from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.records import (
    Sizes,
    find_shards,
    index_files,
    parse_batch,
    read_description,
)
from albert_keras.pretraining.stream import ExampleStream
from albert_keras.pretraining.tfrecord import read_records
from albert_keras.text.delivery import deliver

# In TensorFlow's message: an error of Python code, before its traceback.
_PYTHON_ERROR = re.compile(r"\bValueError: (.+?)\s*\nTraceback ", re.DOTALL)


def pretraining_dataset(
    source,
    batch_size,
    *,
    seed=None,
    start_step=0,
    sequence_length=None,
    max_predictions=None,
    sentence_pairs=True,
    config=None,
    shard=None,
):
    """Reads prepared data as endless, shuffled batches for `AlbertPretrainer.fit`.

    Examples of record files are read as they were written. From a token store, pairs,
    packing and masks are drawn again in each epoch (see `ExampleStream`).

    Each epoch has a new order: record files are shuffled by runs of 4,096 records and
    within each run, a store's examples within windows of eight million tokens. The
    order depends on the seed alone, so `start_step=n` resumes exactly after `n`
    batches. The skipped part of record files is not read; of a store, the sentence
    lengths are.

    Args:
        source: str or path of a folder or a file, or a list of files, also addresses
            such as `"s3://bucket/data"`: written by `prepare_pretraining_data` or the
            original `create_pretraining_data.py`.
        batch_size: int >= 1. Examples in a batch, over all workers.
        seed: int >= 0. Required.
        start_step: int >= 0. Number of batches to skip.
        sequence_length: int, or None. The expected length in tokens.
        max_predictions: int, or None. The expected number of predictions. Files that
            the original wrote with `do_permutation` hold twice the value of its flag.
        sentence_pairs: bool or str. Whether to return labels for `sop_logits`. As str it
            is their objective, which a token store is read with and records must have.
        config: `PretrainingDataConfig`, or None for the one the store was prepared
            with. How examples are made from a token store; an error for records.
        shard: tuple `(worker, num_workers)`, or None. The worker gets its rows of each
            batch; `num_workers` must divide `batch_size`.

    Returns:
        `tf.data.Dataset` of `(features, labels, sample_weights)`, int32 and float32:
        features `token_ids`, `segment_ids`, `padding_mask` `(batch, sequence_length)`
        and `mask_positions` `(batch, max_predictions)`; labels and weights `mlm_logits`
        `(batch, max_predictions)` and `sop_logits` `(batch,)`. Packed rows also have
        the features `sequence_ids` `(batch, sequence_length)` and `pair_positions`
        `(batch, max_pairs)`, and their `sop_logits` are `(batch, max_pairs)`.

    Raises:
        FileNotFoundError: If there are no such files, or a shard is missing.
        ValueError: If an argument is out of range, a file is truncated, has other
            content or sizes, or there are no sentence pairs. A record with damaged
            content raises `tf.errors.OpError` when it is read.

    Example:

    ```python
    train = ak.pretraining_dataset("prepared", batch_size=32, seed=0)
    model.fit(train, steps_per_epoch=1000)
    ```
    """
    if seed is None:
        raise ValueError(
            "`seed` must be an integer of at least 0. Received: seed=None. For one "
            "pass in a fixed order use `pretraining_validation_dataset`."
        )
    _check_at_least("batch_size", batch_size, 1)
    _check_at_least("start_step", start_step, 0)
    sizes = Sizes(sequence_length, max_predictions, None)
    examples = _open_source(source, sizes, sentence_pairs, config)
    batches = examples.training_batches(batch_size, seed, start_step * batch_size)
    batches = _to_model_batches(examples, batches, batch_size, sentence_pairs, shard)
    return deliver(batches, tf.data.INFINITE_CARDINALITY)


def pretraining_validation_dataset(
    source,
    batch_size,
    *,
    sequence_length=None,
    max_predictions=None,
    sentence_pairs=True,
    config=None,
    shard=None,
):
    """Reads prepared data once, in a fixed order, as batches for `evaluate`.

    The last batch may be smaller. With a `shard` it is filled up with examples of
    weight 0, so that all workers get batches of one size. The examples of a token store
    are drawn with `config.seed`. Arguments, batches and errors are as for
    `pretraining_dataset`; the cardinality is known.

    Example:

    ```python
    model.evaluate(ak.pretraining_validation_dataset("held_out", batch_size=32))
    ```
    """
    _check_at_least("batch_size", batch_size, 1)
    sizes = Sizes(sequence_length, max_predictions, None)
    examples = _open_source(source, sizes, sentence_pairs, config)
    batches = examples.validation_batches(batch_size)
    batches = _to_model_batches(examples, batches, batch_size, sentence_pairs, shard)
    return deliver(batches, -(-examples.count() // batch_size))


@contextlib.contextmanager
def plain_errors():
    """Raises the ValueError of a damaged file as it was, without TensorFlow's graph."""
    try:
        yield
    except tf.errors.OpError as error:
        found = _PYTHON_ERROR.search(str(error))
        if found is None:
            raise
        raise ValueError(found[1]) from error


def _check_at_least(name, value, minimum):
    if value < minimum:
        raise ValueError(
            f"`{name}` must be at least {minimum}. Received: {name}={value}."
        )


def _open_source(source, sizes, sentence_pairs, config):
    """Returns the examples of a token store or of record files."""
    is_list = isinstance(source, list | tuple)
    description = None if is_list else read_description(source)
    if description is not None and description.get("kind") == "tokens":
        config = config or _stored_config(description, sentence_pairs)
        available = (config.sequence_length, config.num_predictions)
        for name, size, found in zip(Sizes._fields, sizes, available, strict=False):
            if size not in (None, found):
                raise ValueError(
                    f"`{name}` must be that of the examples made. Received: {name}="
                    f"{size}, but '{source}' is read with {found}. Pass a `config`."
                )
        objectives = {source: config.sentence_pairs}
        examples = _StoreExamples(source, description, config)
    elif config is not None:
        raise ValueError(
            "`config` is for token stores only; the examples of record files are "
            f"already made. Received: source='{source}', config={config}."
        )
    else:
        paths = find_shards(source)
        examples = _RecordExamples(index_files(paths, sizes))
        folders = {path.parent: read_description(path.parent) for path in paths}
        objectives = {f: d["sentence_pairs"] for f, d in folders.items() if d}
    for name, objective in objectives.items():
        if sentence_pairs and objective == "none":
            raise ValueError(
                "`sentence_pairs` must be False for examples without pairs. "
                f"Received: sentence_pairs={sentence_pairs}, source='{name}'."
            )
        if isinstance(sentence_pairs, str) and objective != sentence_pairs:
            raise ValueError(
                "`sentence_pairs` must be the objective of the examples. Received: "
                f"sentence_pairs={sentence_pairs}, source='{name}', made with "
                f"{objective}. Prepare the text with the same one."
            )
    return examples


def _stored_config(description, sentence_pairs):
    """Returns the config of a token store, with the objective that is asked for."""
    config = PretrainingDataConfig.from_dict(description["config"])
    if isinstance(sentence_pairs, str):
        config = dataclasses.replace(config, sentence_pairs=sentence_pairs)
    return config


class _StoreExamples:
    """Examples made from a token store, by a Python thread, while they are read."""

    def __init__(self, folder, description, config):
        self._open = functools.partial(ExampleStream, folder, description, config)
        self._held_out = self._open(config.seed)

    def training_batches(self, batch_size, seed, start):
        make = functools.partial(self._open(seed).batches, batch_size, start)
        return self._generate(make, batch_size)

    def validation_batches(self, batch_size):
        make = functools.partial(self._held_out.batches, batch_size, num_epochs=1)
        return self._generate(make, None)

    def count(self):
        return self._held_out.count_examples()

    def parse(self, batch):
        return batch

    def _generate(self, make, batch_size):
        signature = {
            name: tf.TensorSpec((batch_size, *values.shape[1:]), values.dtype)
            for name, values in self._held_out.empty_batch().items()
        }
        return tf.data.Dataset.from_generator(make, output_signature=signature)


class _RecordExamples:
    """Examples of record files, as serialized `tf.train.Example`s until `parse`."""

    def __init__(self, index):
        self._index = index

    def training_batches(self, batch_size, seed, start):
        records = _shuffled_records(self._index, seed, start)
        return records.batch(batch_size, drop_remainder=True)

    def validation_batches(self, batch_size):
        runs = tf.data.Dataset.range(len(self._index.counts))
        records = runs.map(lambda run: _read_run(self._index, run)).prefetch(1)
        return records.unbatch().batch(batch_size)

    def count(self):
        return self._index.num_examples

    def parse(self, batch):
        return parse_batch(batch, self._index.sizes)


def _shuffled_records(index, seed, start):
    """Returns the endless stream of shuffled records, from number `start` on.

    The order of the runs and the order within each run are stateless draws from the
    seed and the epoch; `Dataset.shuffle` also depends on TensorFlow's global seed.
    """
    shuffle = tf.random.experimental.stateless_shuffle
    first_epoch, start = divmod(start, index.num_examples)
    epochs = tf.data.Dataset.counter(first_epoch)

    def order_runs(epoch):
        runs = tf.range(len(index.counts), dtype=tf.int64)
        return shuffle(runs, [seed, epoch])

    def list_runs(epoch):
        runs = tf.data.Dataset.from_tensor_slices(order_runs(epoch))
        return runs.map(lambda run: (epoch, run))

    def read_run(epoch, run):
        key = tf.random.fold_in([seed, epoch], run)
        return shuffle(_read_run(index, run), key)

    order = next(epochs.map(order_runs).as_numpy_iterator())
    run_starts = np.append(0, np.cumsum(index.counts[order]))
    first_run = np.searchsorted(run_starts[1:], start, side="right")
    runs = epochs.flat_map(list_runs).skip(first_run)
    records = runs.map(read_run).prefetch(1).unbatch()
    return records.skip(start - run_starts[first_run])


def _read_run(index, run):
    """Returns the records of one run as a string tensor.

    In Python, because `tf.data.TFRecordDataset` cannot begin at a byte offset.
    """

    def read(run):
        offset, count = index.offsets[run], index.counts[run]
        return np.array([*read_records(index.paths[run], offset, count)], object)

    records = tf.numpy_function(read, [run], tf.string, stateful=False)
    return tf.ensure_shape(records, [None])


def _to_model_batches(examples, batches, batch_size, sentence_pairs, shard):
    """Parses batches, or a worker's rows of each, to features, labels and weights."""
    worker, num_workers = shard or (0, 1)
    if batch_size % num_workers or not 0 <= worker < num_workers:
        raise ValueError(
            "`shard` must be the index of a worker and the number of workers, which "
            f"divides the batch. Received: shard={shard}, batch_size={batch_size}."
        )
    size = batch_size // num_workers
    rows = np.arange(worker * size, (worker + 1) * size)

    def to_model(batch):
        is_present = None
        if shard is not None:
            # Row 0 replaces rows that a smaller batch lacks.
            is_present = rows < tf.shape(tf.nest.flatten(batch)[0])[0]
            taken = tf.where(is_present, rows, 0)
            batch = tf.nest.map_structure(
                lambda values: tf.gather(values, taken), batch
            )
        return _to_model_inputs(examples.parse(batch), sentence_pairs, is_present)

    return batches.map(to_model, num_parallel_calls=tf.data.AUTOTUNE)


def _to_model_inputs(example, sentence_pairs, is_present):
    """Returns features, labels and weights, which are 0 where not `is_present`."""
    names = ("token_ids", "segment_ids", "padding_mask", "mask_positions")
    if "pair_positions" in example:
        names += ("sequence_ids", "pair_positions")
    features = {name: example[name] for name in names}
    labels = {"mlm_logits": example["mask_ids"]}
    weights = {"mlm_logits": example["mask_weights"]}
    if sentence_pairs:
        label = example["sop_label"]
        labels["sop_logits"] = label
        # Packed rows have fewer pairs than `max_pairs`; the rest has weight 0.
        weights["sop_logits"] = example.get(
            "sop_weight", tf.ones_like(label, tf.float32)
        )
    if is_present is not None:
        weights = {
            name: tf.einsum("b...,b->b...", values, tf.cast(is_present, tf.float32))
            for name, values in weights.items()
        }
    return features, labels, weights
