"""Datasets of pretraining batches, for training and for validation."""

import contextlib
import dataclasses
import functools
import re

import keras
import numpy as np
from keras import tree

from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.record_stream import RecordStream
from albert_keras.pretraining.records import (
    Sizes,
    find_shards,
    index_files,
    read_description,
)
from albert_keras.pretraining.stream import ExampleStream
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
        On TensorFlow a `tf.data.Dataset`, on other backends a `keras.utils.PyDataset`,
        of `(features, labels, sample_weights)`, int32 and float32:
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
    pretrainer.fit(train, steps_per_epoch=10)
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
    stream = _open_source(source, sizes, sentence_pairs, config)(seed)
    assemble = _Assembler(batch_size, sentence_pairs, shard)

    def batches_from(skipped):
        batches = stream.batches(batch_size, (start_step + skipped) * batch_size)
        return map(assemble, batches)

    return deliver(batches_from, assemble.spec(stream, is_static=True))


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
    held_out = ak.pretraining_validation_dataset("held_out", batch_size=32)
    pretrainer.evaluate(held_out)
    ```
    """
    _check_at_least("batch_size", batch_size, 1)
    sizes = Sizes(sequence_length, max_predictions, None)
    stream = _open_source(source, sizes, sentence_pairs, config)()
    assemble = _Assembler(batch_size, sentence_pairs, shard)

    def batches_from(skipped):
        batches = stream.batches(batch_size, skipped * batch_size, num_epochs=1)
        return map(assemble, batches)

    spec = assemble.spec(stream, is_static=shard is not None)
    return deliver(batches_from, spec, -(-stream.count_examples() // batch_size))


@contextlib.contextmanager
def plain_errors():
    """Raises the ValueError of a damaged file as it was, without TensorFlow's graph."""
    try:
        yield
    except Exception as error:
        # Only TensorFlow's errors have the traceback of another one in their message.
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
    """Returns a function from a seed to the stream of a token store or record files.

    Without a seed, the examples of one pass are always the same.
    """
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

        def open_stream(seed=config.seed):
            return ExampleStream(source, description, config, seed)
    elif config is not None:
        raise ValueError(
            "`config` is for token stores only; the examples of record files are "
            f"already made. Received: source='{source}', config={config}."
        )
    else:
        paths = find_shards(source)
        open_stream = functools.partial(RecordStream, index_files(paths, sizes))
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
    return open_stream


def _stored_config(description, sentence_pairs):
    """Returns the config of a token store, with the objective that is asked for."""
    config = PretrainingDataConfig.from_dict(description["config"])
    if isinstance(sentence_pairs, str):
        config = dataclasses.replace(config, sentence_pairs=sentence_pairs)
    return config


class _Assembler:
    """Function of examples that returns features, labels and weights.

    Arguments are those of `pretraining_dataset`.
    """

    def __init__(self, batch_size, sentence_pairs, shard):
        worker, num_workers = shard or (0, 1)
        if batch_size % num_workers or not 0 <= worker < num_workers:
            raise ValueError(
                "`shard` must be the index of a worker and the number of workers, which "
                f"divides the batch. Received: shard={shard}, batch_size={batch_size}."
            )
        size = batch_size // num_workers
        self._rows = np.arange(worker * size, (worker + 1) * size)
        self._is_shared = shard is not None
        self._sentence_pairs = sentence_pairs

    def __call__(self, examples):
        batch = _to_model_inputs(examples, self._sentence_pairs)
        if self._is_shared:
            batch = _take(self._rows, batch)
        return batch

    def spec(self, stream, is_static):
        """Returns the shapes and types of batches, whose sizes may all be the same."""
        empty = _to_model_inputs(stream.empty_batch(), self._sentence_pairs)
        size = len(self._rows) if is_static else None
        return tree.map_structure(
            lambda array: keras.KerasTensor((size, *array.shape[1:]), array.dtype),
            empty,
        )


def _take(rows, batch):
    """Returns rows of a batch; those that a smaller batch lacks have weight 0."""
    is_present = rows < len(batch[0]["token_ids"])
    # Row 0 replaces the others.
    taken = np.where(is_present, rows, 0)
    features, labels, weights = tree.map_structure(lambda array: array[taken], batch)
    for values in weights.values():
        values[~is_present] = 0
    return features, labels, weights


def _to_model_inputs(examples, sentence_pairs):
    names = ("token_ids", "segment_ids", "padding_mask", "mask_positions")
    if "pair_positions" in examples:
        names += ("sequence_ids", "pair_positions")
    features = {name: examples[name] for name in names}
    labels = {"mlm_logits": examples["mask_ids"]}
    weights = {"mlm_logits": examples["mask_weights"]}
    if sentence_pairs:
        label = labels["sop_logits"] = examples["sop_label"]
        # Packed rows have fewer pairs than `max_pairs`; the rest has weight 0.
        ones = np.ones(label.shape, np.float32)
        weights["sop_logits"] = examples.get("sop_weight", ones)
    return features, labels, weights
