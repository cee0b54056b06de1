"""Batches: shapes, epochs, exact continuation, and what is refused."""

import collections
import itertools

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.data.examples import PretrainingDataConfig
from albert_keras.data.pipeline import pretraining_dataset
from albert_keras.data.preparation import prepare_pretraining_data
from albert_keras.data.records import find_shards, read_examples, write_examples

BATCH_SIZE, LENGTH, PREDICTIONS = 7, 61, 9


@pytest.fixture(scope="module")
def folder(documents, tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipeline") / "data"
    config = PretrainingDataConfig(sequence_length=LENGTH, dupe_factor=1, num_shards=5)
    prepare_pretraining_data(documents, tokenizer, folder, config)
    return folder


def rows(batches):
    """Each example's token ids as bytes, in order."""
    return [row.tobytes() for batch in batches for row in batch[0]["token_ids"].numpy()]


def test_training_batches(folder):
    dataset = pretraining_dataset(folder, BATCH_SIZE, seed=1)
    features, labels, weights = dataset.element_spec
    shapes = {name: tuple(spec.shape) for name, spec in features.items()}
    assert shapes == {
        "token_ids": (BATCH_SIZE, LENGTH),
        "segment_ids": (BATCH_SIZE, LENGTH),
        "padding_mask": (BATCH_SIZE, LENGTH),
        "mask_positions": (BATCH_SIZE, PREDICTIONS),
    }
    assert {spec.dtype for spec in [*features.values(), *labels.values()]} == {tf.int32}
    assert {spec.dtype for spec in weights.values()} == {tf.float32}
    assert tuple(labels["mlm_logits"].shape) == (BATCH_SIZE, PREDICTIONS)
    assert tuple(labels["sop_logits"].shape) == (BATCH_SIZE,)
    assert weights.keys() == labels.keys()


def test_batches_hold_what_the_records_hold(folder):
    examples = [e for path in find_shards(folder) for e in read_examples(path)]
    dataset = pretraining_dataset(folder, BATCH_SIZE)
    batches = list(dataset)
    assert len(batches[-1][0]["token_ids"]) == len(examples) % BATCH_SIZE != 0
    features, labels, weights = batches[3]
    for name in ("token_ids", "segment_ids", "padding_mask", "mask_positions"):
        np.testing.assert_array_equal(features[name][2], examples[23][name])
    np.testing.assert_array_equal(labels["mlm_logits"][2], examples[23]["mask_ids"])
    np.testing.assert_array_equal(labels["sop_logits"][2], examples[23]["sop_label"])
    np.testing.assert_array_equal(
        weights["mlm_logits"][2], examples[23]["mask_weights"]
    )
    np.testing.assert_array_equal(weights["sop_logits"], np.ones(BATCH_SIZE))
    assert rows(batches) == [example["token_ids"].tobytes() for example in examples]


def test_each_epoch_has_every_example_in_another_order(folder):
    expected = rows(pretraining_dataset(folder, BATCH_SIZE))
    size = len(expected)
    batches = pretraining_dataset(folder, BATCH_SIZE, seed=1).take(
        3 * size // BATCH_SIZE
    )
    found = rows(batches)
    epochs = [found[:size], found[size : 2 * size]]
    for epoch in epochs:
        assert collections.Counter(epoch) == collections.Counter(expected)
        assert np.mean([a == b for a, b in zip(epoch, expected, strict=True)]) < 0.1
    assert epochs[0] != epochs[1]


def test_the_order_is_the_seed_s_alone(folder):
    first = rows(pretraining_dataset(folder, BATCH_SIZE, seed=1).take(31))
    tf.random.set_seed(99)
    assert rows(pretraining_dataset(folder, BATCH_SIZE, seed=1).take(31)) == first
    assert rows(pretraining_dataset(folder, BATCH_SIZE, seed=2).take(31)) != first


@pytest.mark.parametrize("seed", [None, 4])
@pytest.mark.parametrize("start_step", [3, 200])
def test_continuing_equals_not_stopping(folder, seed, start_step):
    whole = pretraining_dataset(folder, BATCH_SIZE, seed=seed)
    expected = rows(itertools.islice(whole, start_step, start_step + 11))
    rest = pretraining_dataset(folder, BATCH_SIZE, seed=seed, start_step=start_step)
    assert rows(rest.take(11)) == expected


def test_without_pairs(documents, tokenizer, tmp_path):
    config = PretrainingDataConfig(
        sequence_length=47, sentence_pairs="none", dupe_factor=1, num_shards=2
    )
    prepare_pretraining_data(documents, tokenizer, tmp_path, config)
    dataset = pretraining_dataset(tmp_path, BATCH_SIZE, sentence_pairs=False)
    _, labels, weights = dataset.element_spec
    assert [*labels] == [*weights] == ["mlm_logits"]
    with pytest.raises(
        ValueError, match="without pairs. Received: sentence_pairs=True"
    ):
        pretraining_dataset(tmp_path, BATCH_SIZE)


def test_files_of_the_original(shared):
    path = shared / "fixtures/google_pretraining_records.tfrecord"
    features, labels, _ = next(iter(pretraining_dataset(path, 3, seed=0)))
    assert features["token_ids"].shape == (3, 512)
    assert labels["mlm_logits"].shape == (3, 77)


def test_sizes_must_be_those_of_the_records(folder, tmp_path):
    pretraining_dataset(folder, 2, sequence_length=LENGTH, max_predictions=PREDICTIONS)
    with pytest.raises(ValueError, match="sequence_length=128, but '.*0-of-.*' has 61"):
        pretraining_dataset(folder, 2, sequence_length=128)
    with pytest.raises(ValueError, match="max_predictions=20, but '.*' has 9"):
        pretraining_dataset(folder, 2, max_predictions=20)
    paths = find_shards(folder)
    longer = next(read_examples(paths[0]))
    longer["token_ids"] = np.zeros(LENGTH + 1, np.int32)
    write_examples(tmp_path / "longer.tfrecord", [longer])
    with pytest.raises(ValueError, match="sequence_length=61, but '.*longer.*' has 62"):
        pretraining_dataset([paths[0], tmp_path / "longer.tfrecord"], 2)


def test_numbers_out_of_range(folder):
    with pytest.raises(ValueError, match="at least 1. Received: batch_size=0"):
        pretraining_dataset(folder, 0)
    with pytest.raises(ValueError, match="at least 0. Received: start_step=-2"):
        pretraining_dataset(folder, BATCH_SIZE, start_step=-2)


def test_broken_and_empty_files(folder, tmp_path):
    path = tmp_path / "broken.tfrecord"
    content = find_shards(folder)[0].read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(
        ValueError, match="must be whole. Received: '.*broken.tfrecord'"
    ):
        pretraining_dataset(path, 2)
    path.write_bytes(b"")
    with pytest.raises(
        ValueError, match="hold a record. Received: '.*broken.*', empty"
    ):
        pretraining_dataset([path], 2)
