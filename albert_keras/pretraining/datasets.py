"""Datasets of pretraining batches, for training and for validation."""

import contextlib
import dataclasses
import functools
import math
import re

import keras
import numpy as np
from keras import tree

from albert_keras.checks import check_positive_integer
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.records import RecordStream, find_shards
from albert_keras.pretraining.stream import ExampleStream
from albert_keras.pretraining.token_store import is_store, read_description
from albert_keras.text.delivery import deliver

# In TensorFlow's message: an error of Python code, before its traceback.
_PYTHON_ERROR = re.compile(r"\bValueError: (.+?)\s*\nTraceback ", re.DOTALL)


def pretraining_dataset(
    source,
    batch_size,
    *,
    seed=None,
    start_step=0,
    sentence_pairs=True,
    config=None,
    shard=None,
):
    """Reads prepared data as endless, shuffled batches for `AlbertPretrainer.fit`.

    From a token store, pairs, packing and masks are drawn again in each epoch (see
    `ExampleStream`). Examples of record files are read as they were written, by
    TensorFlow.

    Each epoch has a new order: a store's examples are shuffled within windows of eight
    million tokens, those of record files by 4,096 of one. The order depends on the
    seed alone, so `start_step=n` resumes exactly after `n` batches. Of the skipped part
    of a store the sentence lengths are read; record files are read from the beginning.

    Args:
        source: str or path of a folder or a file, or a list of files, also addresses
            such as `"s3://bucket/data"`: written by `prepare_pretraining_data` or the
            original `create_pretraining_data.py`.
        batch_size: int >= 1. Examples in a batch, over all workers.
        seed: int >= 0. Required.
        start_step: int >= 0. Number of batches to skip.
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
            content or sizes, or there are no sentence pairs.

    Example:

    ```python
    train = ak.pretraining_dataset("prepared", batch_size=32, seed=0)
    pretrainer.fit(train, steps_per_epoch=10)
    ```
    """
    for name, value in (("seed", seed), ("start_step", start_step)):
        if value is None or value < 0:
            raise ValueError(
                f"`{name}` must be an integer of at least 0. Received: {name}={value}. "
                "For one pass in a fixed order use `pretraining_validation_dataset`."
            )
    stream = _open_source(source, sentence_pairs, config)(seed)
    return _deliver(stream, batch_size, sentence_pairs, shard, start_step)


def pretraining_validation_dataset(
    source,
    batch_size,
    *,
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
    held_out = ak.pretraining.pretraining_validation_dataset("held_out", batch_size=32)
    pretrainer.evaluate(held_out)
    ```
    """
    stream = _open_source(source, sentence_pairs, config)()
    num_examples = stream.count_examples()
    return _deliver(stream, batch_size, sentence_pairs, shard, stop=num_examples)


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


def _open_source(source, sentence_pairs, config):
    """Returns a function from a seed to the stream of a token store or record files.

    Without a seed, the examples of one pass are always the same.
    """
    description = None if isinstance(source, list | tuple) else read_description(source)
    if is_store(description):
        config = config or PretrainingDataConfig.from_dict(description["config"])
        if isinstance(sentence_pairs, str):
            config = dataclasses.replace(config, sentence_pairs=sentence_pairs)
        objectives = {config.sentence_pairs}
    elif config is not None:
        raise ValueError(
            "`config` is for token stores only; the examples of record files are "
            f"already made. Received: source='{source}', config={config}."
        )
    else:
        paths = find_shards(source)
        found = [(path, read_description(path.parent)) for path in paths]
        for path, made in found:
            shards, size = made["shards"] if made else {}, path.stat().st_size
            expected = shards.get(path.name, {}).get("bytes", size)
            if size != expected:
                raise ValueError(
                    "A record file must have the size given in its `dataset.json`. "
                    f"Received: '{path}' of {size} bytes instead of {expected}."
                )
        configs = [PretrainingDataConfig.from_dict(m["config"]) for _, m in found if m]
        objectives = {made_by.sentence_pairs for made_by in configs}
    wrong = objectives - {sentence_pairs}
    if isinstance(sentence_pairs, bool):
        wrong = objectives & {"none"} if sentence_pairs else ()
    if wrong:
        raise ValueError(
            "`sentence_pairs` must be the objective of the examples, or False. Received: "
            f"sentence_pairs={sentence_pairs}, source='{source}', made with "
            f"{', '.join(wrong)}. Prepare the text with the same one."
        )
    if config is None:
        return functools.partial(RecordStream, paths)
    return lambda seed=config.seed: ExampleStream(source, description, config, seed)


def _deliver(stream, batch_size, sentence_pairs, shard, start_step=0, stop=None):
    """Returns the dataset of a worker's share of batches, up to example `stop`."""
    check_positive_integer("batch_size", batch_size)
    worker, num_workers = shard or (0, 1)
    if batch_size % num_workers or not 0 <= worker < num_workers:
        raise ValueError(
            "`shard` must be the index of a worker and the number of workers, which "
            f"divides the batch. Received: shard={shard}, batch_size={batch_size}."
        )
    size = batch_size // num_workers
    rows = np.arange(worker * size, (worker + 1) * size)

    def assemble(examples):
        batch = _to_model_inputs(examples, sentence_pairs)
        return _take(rows, batch) if shard else batch

    def batches_from(skipped):
        start = (start_step + skipped) * batch_size
        return map(assemble, stream.batches(batch_size, start, stop or math.inf))

    # The last batch of one pass may be smaller.
    static_size = None if stop is not None and shard is None else size
    spec = tree.map_structure(
        lambda array: keras.KerasTensor((static_size, *array.shape[1:]), array.dtype),
        _to_model_inputs(stream.empty_batch(), sentence_pairs),
    )
    return deliver(batches_from, spec, stop and -(-stop // batch_size))


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
