"""Record files to batches for training and validation, as a `tf.data` pipeline."""

from albert_keras.data.records import (
    count_examples,
    find_shards,
    parse_batch,
    read_description,
    read_examples,
)

# Records shuffled together in training: about 25 MB at sequence length 512.
_SHUFFLED_RECORDS = 4096


def pretraining_dataset(
    source,
    batch_size,
    *,
    sequence_length=None,
    max_predictions=None,
    sentence_pairs=True,
    seed=None,
    start_step=0,
):
    """Reads record files as batches for `model.fit` on `AlbertPretrainer`.

    With a `seed` the dataset is for training: endless, full batches only, and in a new
    order each epoch: files are shuffled, then each run of 4,096 records. The order is a
    function of the seed and the epoch, whatever else draws random numbers, so
    `start_step=n` continues exactly where n batches ended. It reads over the records
    of the current epoch only.

    Without a `seed` it is for validation: one pass in the order of the files, and the
    last batch may be smaller.

    Args:
        source: str or path of a folder or a file, or a list of files; ours, or made by
            the original.
        batch_size: int >= 1.
        sequence_length: int. By default that of the records.
        max_predictions: int. By default that of the records. Files that the original
            made with `do_permutation` hold twice what its flag says.
        sentence_pairs: bool. Whether to give `sop_logits` a label.
        seed: int >= 0, or None.
        start_step: int >= 0. Batches to leave out at the start.

    Returns:
        `tf.data.Dataset` of `(features, labels, sample_weights)`, int32 and float32:
        features `token_ids`, `segment_ids`, `padding_mask` `(batch, sequence_length)`
        and `mask_positions` `(batch, max_predictions)`; labels and weights `mlm_logits`
        `(batch, max_predictions)` and `sop_logits` `(batch,)`.

    Raises:
        FileNotFoundError: If there are no such files, or a shard is missing.
        ValueError: If a number is outside what is said above; if a file is truncated,
            holds something else or sizes other than those asked for; or if there are
            no sentence pairs to be had. A damaged payload shows when it is read, as
            `tf.errors.DataLossError`.
    """
    import tensorflow as tf

    _check_at_least("batch_size", batch_size, 1)
    _check_at_least("start_step", start_step, 0)
    paths = find_shards(source)
    num_examples = _count_all(paths)
    sizes = _check_sizes(paths, sequence_length, max_predictions)
    _check_sentence_pairs(paths, sentence_pairs)
    skipped = start_step * batch_size
    if seed is None:
        records = tf.data.TFRecordDataset([str(path) for path in paths])
    else:
        epoch, skipped = divmod(skipped, num_examples)
        records = _shuffled_records(paths, seed, epoch)
        num_examples = tf.data.INFINITE_CARDINALITY
    # Keras warns of a dataset that ends without having said when.
    records = records.apply(tf.data.experimental.assert_cardinality(num_examples))
    batches = records.skip(skipped).batch(batch_size, drop_remainder=seed is not None)

    def to_model(batch):
        return _to_model_inputs(parse_batch(batch, *sizes), sentence_pairs)

    batches = batches.map(to_model, num_parallel_calls=tf.data.AUTOTUNE)
    return batches.prefetch(tf.data.AUTOTUNE)


def _check_at_least(name, value, minimum):
    if value < minimum:
        raise ValueError(
            f"`{name}` must be at least {minimum}. Received: {name}={value}."
        )


def _count_all(paths):
    num_examples = sum(map(count_examples, paths))
    if not num_examples:
        names = ", ".join(f"'{path}'" for path in paths)
        raise ValueError(f"`source` must hold a record. Received: {names}, empty.")
    return num_examples


def _check_sizes(paths, sequence_length, max_predictions):
    """Returns the sizes of the records, which all files and the request must share."""
    requested = {"sequence_length": sequence_length, "max_predictions": max_predictions}
    for path in paths:
        example = next(read_examples(path), None)
        if example is None:
            continue
        found = {
            "sequence_length": len(example["token_ids"]),
            "max_predictions": len(example["mask_positions"]),
        }
        for name, size in found.items():
            if requested[name] not in (None, size):
                raise ValueError(
                    f"`{name}` must be that of the records. Received: "
                    f"{name}={requested[name]}, but '{path}' has {size}."
                )
        requested = found
    return tuple(requested.values())


def _check_sentence_pairs(paths, sentence_pairs):
    for folder in {path.parent for path in paths}:
        description = read_description(folder)
        if sentence_pairs and description and description["sentence_pairs"] == "none":
            raise ValueError(
                "`sentence_pairs` must be False for records without pairs. "
                f"Received: sentence_pairs={sentence_pairs}, source='{folder}'."
            )


def _shuffled_records(paths, seed, first_epoch):
    """Repeats the records for ever, in an order drawn from the seed and the epoch.

    By stateless draws, because `Dataset.shuffle` also depends on the global seed.
    """
    import tensorflow as tf

    shuffle = tf.random.experimental.stateless_shuffle
    file_names = tf.constant([str(path) for path in paths])

    def read_epoch(epoch):
        epoch_seed = tf.stack([tf.constant(seed, tf.int64), epoch])

        def shuffle_run(run, records):
            return shuffle(records, tf.random.fold_in(epoch_seed, run))

        records = tf.data.TFRecordDataset(shuffle(file_names, epoch_seed))
        runs = records.batch(_SHUFFLED_RECORDS).enumerate()
        return runs.map(shuffle_run).unbatch()

    return tf.data.Dataset.counter(first_epoch).flat_map(read_epoch)


def _to_model_inputs(example, sentence_pairs):
    import tensorflow as tf

    names = ("token_ids", "segment_ids", "padding_mask", "mask_positions")
    features = {name: example[name] for name in names}
    labels = {"mlm_logits": example["mask_ids"]}
    weights = {"mlm_logits": example["mask_weights"]}
    if sentence_pairs:
        labels["sop_logits"] = example["sop_label"]
        weights["sop_logits"] = tf.ones_like(example["sop_label"], tf.float32)
    return features, labels, weights
