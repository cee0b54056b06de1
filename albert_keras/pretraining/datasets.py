"""Prepared data to batches for training and validation, as a `tf.data` pipeline."""

import functools
import pathlib

import numpy as np

from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.record_index import index_files
from albert_keras.pretraining.records import find_shards, parse_batch, read_description
from albert_keras.pretraining.stream import ExampleStream
from albert_keras.text.delivery import deliver

_READ_BUFFER = 1 << 20


def pretraining_dataset(
    source,
    batch_size,
    *,
    sequence_length=None,
    max_predictions=None,
    sentence_pairs=True,
    seed=None,
    start_step=0,
    config=None,
    shard=None,
):
    """Reads prepared data as batches for `model.fit` on `AlbertPretrainer`.

    Of record files, the examples are read as they are. Of a store of token ids, pairs,
    packing and masks are drawn anew in each epoch (see `ExampleStream`), as the store
    was prepared for or as `config` says.

    With a `seed` the dataset is for training: endless, full batches only, and in a new
    order each epoch. Record files are shuffled by runs of 4,096 records, then each run;
    a store's examples by windows of eight million tokens drawn from all over it. The
    stream is a function of the seed, whatever else draws random numbers, so
    `start_step=n` continues exactly where n batches ended. Of what comes before, it
    reads nothing of record files, and of a store the lengths of sentences.

    Without a `seed` it is for validation: one pass, always the same, and the last batch
    may be smaller.

    With a `shard` it is for one of several workers, which each get their rows of every
    batch: together those of one worker alone, in the same order, without overlap. Every
    worker still reads all records, and makes all examples of a store, before it takes
    its rows; only parsing and what follows is shared out. All batches are of one size
    then: the last one of a validation is filled up with examples of weight 0.

    Args:
        source: str or path of a folder or a file, or a list of files; ours, or made by
            the original.
        batch_size: int >= 1. Of all workers together.
        sequence_length: int. What it must be, if given.
        max_predictions: int. What it must be, if given. Files that the original made
            with `do_permutation` hold twice what its flag says.
        sentence_pairs: bool. Whether to give `sop_logits` a label.
        seed: int >= 0, or None.
        start_step: int >= 0. Batches to leave out at the start.
        config: `PretrainingDataConfig`, or None. How examples are made of token ids.
        shard: Tuple of int, the worker's index and the number of workers, which divides
            `batch_size`; or None.

    Returns:
        `tf.data.Dataset` of `(features, labels, sample_weights)`, int32 and float32:
        features `token_ids`, `segment_ids`, `padding_mask` `(batch, sequence_length)`
        and `mask_positions` `(batch, max_predictions)`; labels and weights `mlm_logits`
        `(batch, max_predictions)` and `sop_logits` `(batch,)`. Filled rows also have
        features `sequence_ids` `(batch, sequence_length)` and `pair_positions` `(batch,
        max_pairs)`, and their `sop_logits` are `(batch, max_pairs)`.

    Raises:
        FileNotFoundError: If there are no such files, or a shard is missing.
        ValueError: If a number is outside what is said above; if a file is truncated,
            holds something else or sizes other than those asked for; if there are no
            sentence pairs to be had; or if `config` comes with record files. A damaged
            payload of a record shows when it is read, as `tf.errors.DataLossError`.
    """
    import tensorflow as tf

    _check_at_least("batch_size", batch_size, 1)
    _check_at_least("start_step", start_step, 0)
    requested = {"sequence_length": sequence_length, "max_predictions": max_predictions}
    rows = None if shard is None else _rows_of_worker(batch_size, *shard)
    start = start_step * batch_size
    if (store := _find_store(source)) is not None:
        config = config or PretrainingDataConfig(**store["config"])
        _check_config(source, config, requested, sentence_pairs)
        stream_seed = config.seed if seed is None else seed
        stream = ExampleStream(source, store, config, stream_seed)
        batches = _make_examples(stream, start, batch_size, seed is not None)
        num_examples = stream.count_examples() if seed is None else None
        parse = None
    else:
        if config is not None:
            raise ValueError(
                "`config` is for a store of token ids; records are what they were "
                f"prepared as. Received: source='{source}', config={config}."
            )
        paths = find_shards(source)
        index = index_files(paths, **requested)
        _check_sentence_pairs(paths, sentence_pairs)
        records = _read_records(index, start, seed)
        batches = records.batch(batch_size, drop_remainder=seed is not None)
        num_examples = index.num_examples
        parse = functools.partial(parse_batch, sizes=index.sizes)

    def to_model(batch):
        given = None
        if rows is not None:
            batch, given = _take_rows(batch, rows)
        examples = parse(batch) if parse else batch
        return _to_model_inputs(examples, sentence_pairs, given)

    batches = batches.map(to_model, num_parallel_calls=tf.data.AUTOTUNE)
    num_batches = tf.data.INFINITE_CARDINALITY
    if seed is None:
        num_batches = -(-max(0, num_examples - start) // batch_size)
    return deliver(batches, num_batches)


def _find_store(source):
    """Returns the description of a store of token ids; None of anything else."""
    if not isinstance(source, str | pathlib.Path) or not pathlib.Path(source).is_dir():
        return None
    description = read_description(source)
    is_store = description is not None and description.get("kind") == "tokens"
    return description if is_store else None


def _check_config(source, config, requested, sentence_pairs):
    sizes = {
        "sequence_length": config.sequence_length,
        "max_predictions": config.num_predictions,
    }
    for name, size in sizes.items():
        if requested[name] not in (None, size):
            raise ValueError(
                f"`{name}` must be that of the examples made. Received: "
                f"{name}={requested[name]}, but '{source}' is read with {size}. Pass "
                "a `config`."
            )
    if sentence_pairs and config.sentence_pairs == "none":
        raise ValueError(
            "`sentence_pairs` must be False for examples without pairs. "
            f"Received: sentence_pairs={sentence_pairs}, source='{source}'."
        )


def _make_examples(stream, start, batch_size, is_training):
    """Returns batches that are made while they are asked for, in a Python thread."""
    import tensorflow as tf

    size = batch_size if is_training else None
    signature = {
        name: tf.TensorSpec((size, *values.shape[1:]), values.dtype)
        for name, values in stream.empty_batch().items()
    }

    def make():
        return stream.batches(batch_size, start, None if is_training else 1)

    return tf.data.Dataset.from_generator(make, output_signature=signature)


def _rows_of_worker(batch_size, index, num_workers):
    """Returns which rows of each batch are those of a worker."""
    if batch_size % num_workers or not 0 <= index < num_workers:
        raise ValueError(
            "`shard` must be the index of a worker and the number of workers, which "
            f"divides the batch. Received: shard={(index, num_workers)}, "
            f"batch_size={batch_size}."
        )
    size = batch_size // num_workers
    return np.arange(index * size, (index + 1) * size)


def _take_rows(batch, rows):
    """Takes rows of a batch, any row for those that a smaller batch lacks.

    Returns:
        Tuple of the rows and a bool tensor, which of them the batch has.
    """
    import tensorflow as tf

    size = tf.shape(tf.nest.flatten(batch)[0])[0]
    given = rows < size
    taken = tf.where(given, rows, 0)
    return tf.nest.map_structure(lambda values: tf.gather(values, taken), batch), given


def _check_at_least(name, value, minimum):
    if value < minimum:
        raise ValueError(
            f"`{name}` must be at least {minimum}. Received: {name}={value}."
        )


def _check_sentence_pairs(paths, sentence_pairs):
    for folder in {path.parent for path in paths}:
        description = read_description(folder)
        if sentence_pairs and description and description["sentence_pairs"] == "none":
            raise ValueError(
                "`sentence_pairs` must be False for records without pairs. "
                f"Received: sentence_pairs={sentence_pairs}, source='{folder}'."
            )


def _read_records(index, start, seed):
    """Returns the stream of records from number `start` on.

    With a seed it has no end, and the order of the runs and that in each run are drawn
    from the seed and the epoch: by stateless draws, because `Dataset.shuffle` also
    depends on the global seed.
    """
    import tensorflow as tf

    shuffle = tf.random.experimental.stateless_shuffle
    paths, offsets, counts = map(tf.constant, index[:3])
    if seed is None:
        epochs = tf.data.Dataset.range(1)
    else:
        epoch, start = divmod(start, index.num_examples)
        epochs = tf.data.Dataset.counter(epoch)

    def order_runs(epoch):
        runs = tf.range(len(index.counts), dtype=tf.int64)
        return runs if seed is None else shuffle(runs, [seed, epoch])

    def list_runs(epoch):
        runs = tf.data.Dataset.from_tensor_slices(order_runs(epoch))
        return runs.map(lambda run: (epoch, run))

    def read_run(epoch, run):
        records = _read_run(paths[run], offsets[run], counts[run])
        if seed is None:
            return records
        return shuffle(records, tf.random.fold_in([seed, epoch], run))

    order = next(epochs.map(order_runs).as_numpy_iterator())
    run_starts = np.append(0, np.cumsum(index.counts[order]))
    first_run = np.searchsorted(run_starts[1:], start, side="right")
    runs = epochs.flat_map(list_runs).skip(first_run)
    records = runs.map(read_run).prefetch(1).unbatch()
    return records.skip(start - run_starts[first_run])


def _read_run(path, offset, count):
    """Reads `count` records of a file, those that begin at a byte, as one tensor."""
    import tensorflow as tf

    # What `tf.data.TFRecordDataset` is made of; that has no argument for the offset.
    records = tf.raw_ops.TFRecordDatasetV2(
        filenames=path,
        compression_type="",
        buffer_size=_READ_BUFFER,
        byte_offsets=offset,
    )
    structure = tf.TensorSpec([], tf.string)
    records = tf.data.experimental.from_variant(records, structure)
    return records.take(count).batch(count).get_single_element()


def _to_model_inputs(example, sentence_pairs, given):
    import tensorflow as tf

    names = ("token_ids", "segment_ids", "padding_mask", "mask_positions")
    if "pair_positions" in example:
        names += ("sequence_ids", "pair_positions")
    features = {name: example[name] for name in names}
    labels = {"mlm_logits": example["mask_ids"]}
    weights = {"mlm_logits": example["mask_weights"]}
    if sentence_pairs:
        label = example["sop_label"]
        labels["sop_logits"] = label
        # Where an example is of several pairs, not all of its places for them are used.
        weights["sop_logits"] = example.get(
            "sop_weight", tf.ones_like(label, tf.float32)
        )
    if given is not None:
        weights = {
            # The rows that a smaller batch lacks count for nothing.
            name: tf.einsum("b...,b->b...", values, tf.cast(given, tf.float32))
            for name, values in weights.items()
        }
    return features, labels, weights
