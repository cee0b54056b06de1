"""Datasets of pretraining batches, for training and for validation."""

import contextlib
import dataclasses
import math
import re

import keras
import numpy as np
from keras import tree

from albert_keras.checks import check_positive_integer, shown
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.records import RecordStream, find_shards
from albert_keras.pretraining.stream import ExampleStream, StoredVocabulary
from albert_keras.pretraining.token_store import is_store, read_description
from albert_keras.system.storage import to_path
from albert_keras.text.delivery import deliver

# An error of Python code, and its traceback, in an error message of TensorFlow.
_PYTHON_ERROR = re.compile(r"\bValueError: (.+?)\s*\nTraceback ", re.DOTALL)


def pretraining_dataset(
    source,
    batch_size,
    *,
    seed,
    start_step=0,
    sentence_pairs=True,
    config=None,
    shard=None,
):
    """Reads prepared data as endless, shuffled batches for `AlbertPretrainer.fit`.

    From a token store, new pairs, rows and masks are drawn in each epoch (see
    `ExampleStream`). Examples of record files are read by TensorFlow as they were
    written.

    Each epoch has a new order. Examples of a store are shuffled within windows of eight
    million tokens, examples of record files in groups of 4,096 from one file. The order
    depends only on the seed, so `start_step=n` resumes exactly after `n` batches. To skip
    examples of a store, only sentence lengths are read; record files are read from the
    beginning.

    Args:
        source: str or path of a folder or a file, or a list of files, also addresses
            such as `"s3://bucket/data"`. Written by `prepare_pretraining_data` or the
            original `create_pretraining_data.py`.
        batch_size: int >= 1. Number of examples in a batch of all workers.
        seed: int >= 0.
        start_step: int >= 0. Number of batches to skip.
        sentence_pairs: bool or str. Whether to return labels for `sop_logits`. A str is
            the objective: examples of a token store are made for it, record files must
            have it.
        config: `PretrainingDataConfig` of the examples of a token store. Default: the
            config that the store was prepared with. Record files take none.
        shard: tuple `(worker, num_workers)`, or `None`. The worker gets its own rows of
            each batch; `num_workers` must divide `batch_size`.

    Returns:
        Dataset of `(features, labels, sample_weights)`, int32 and float32: on TensorFlow
        a `tf.data.Dataset`, on other backends a `keras.utils.PyDataset`. Features are
        `token_ids`, `segment_ids`, `padding_mask` `(batch, sequence_length)` and
        `mask_positions` `(batch, max_predictions)`. Labels and weights are `mlm_logits`
        `(batch, max_predictions)` and `sop_logits` `(batch,)`. Filled rows also have the
        features `sequence_ids` `(batch, sequence_length)` and `pair_positions` `(batch,
        max_pairs)`; their `sop_logits` have the shape `(batch, max_pairs)`.

    Raises:
        FileNotFoundError: If there are no such files, or a shard is missing.
        ValueError: If an argument is out of range, a file is truncated or has other
            content or sizes, or there are no sentence pairs.

    Example:

    ```python
    train = ak.pretraining_dataset("prepared", batch_size=32, seed=0)
    pretrainer.fit(train, steps_per_epoch=10)
    ```
    """
    for name, value in {"seed": seed, "start_step": start_step}.items():
        if type(value) is not int or value < 0:
            raise ValueError(
                f"`{name}` must be an integer, at least 0. Received: {shown(value)}."
            )
    stream = _open_source(source, sentence_pairs, config, seed)
    return _deliver(stream, batch_size, sentence_pairs, shard, start_step)


def pretraining_validation_dataset(
    source, batch_size, *, sentence_pairs=True, config=None, shard=None
):
    """Reads prepared data once, in a fixed order, as batches for `evaluate`.

    The last batch may be smaller. With `shard`, it is filled with examples of weight 0,
    so that the batches of all workers have the same size. Examples of a token store are
    drawn with `config.seed`. Arguments, batches and errors are those of
    `pretraining_dataset`. The cardinality is known.

    Example:

    ```python
    held_out = ak.pretraining.pretraining_validation_dataset("held_out", batch_size=32)
    pretrainer.evaluate(held_out)
    ```
    """
    stream = _open_source(source, sentence_pairs, config)
    num_examples = stream.count_examples()
    return _deliver(stream, batch_size, sentence_pairs, shard, stop=num_examples)


@contextlib.contextmanager
def plain_errors():
    """Raises the ValueError of a damaged file without the TensorFlow graph around it."""
    try:
        yield
    except Exception as error:
        # Only TensorFlow's messages contain the traceback of another error.
        found = _PYTHON_ERROR.search(str(error))
        if found is None:
            raise
        raise ValueError(found[1]) from error


def _open_source(source, sentence_pairs, config, seed=None):
    """Returns the stream of a token store or of record files.

    Without a seed, the stream is the same in every call.
    """
    is_list = isinstance(source, list | tuple)
    paths = [*map(to_path, source)] if is_list else to_path(source)
    description = None if is_list else read_description(paths)
    if is_store(description):
        config = config or PretrainingDataConfig.from_dict(description["config"])
        if isinstance(sentence_pairs, str):
            config = dataclasses.replace(config, sentence_pairs=sentence_pairs)
        configs, seed = [config], config.seed if seed is None else seed
        shards, vocabulary = description["shards"], StoredVocabulary(description)
        stream = ExampleStream(paths, shards, vocabulary, config, seed)
    elif config is not None:
        raise ValueError(
            "`config` is only for token stores; the examples of record files already "
            f"exist. Received: source='{source}', config={config}."
        )
    else:
        paths = find_shards(paths)
        found = map(read_description, {path.parent for path in paths})
        configs = [PretrainingDataConfig.from_dict(m["config"]) for m in found if m]
        stream = RecordStream(paths, seed)
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
    return stream


def _deliver(stream, batch_size, sentence_pairs, shard, start_step=0, stop=None):
    """Returns the dataset of a worker's rows of batches, up to the example `stop`."""
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
    """Returns rows of a batch; rows that a smaller batch does not have get weight 0."""
    is_present = rows < len(batch[0]["token_ids"])
    # Row 0 is in place of rows that do not exist.
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
        # Filled rows have fewer than `max_pairs` pairs; the others have weight 0.
        ones = np.ones(label.shape, np.float32)
        weights["sop_logits"] = examples.get("sop_weight", ones)
    return features, labels, weights
