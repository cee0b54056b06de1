"""Batches: shapes, epochs, exact resume, workers, and invalid arguments."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.pretraining.datasets import (
    plain_errors,
    pretraining_dataset,
    pretraining_validation_dataset,
)
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.records import find_shards
from tests.pretraining.record_folders import (
    LENGTH,
    PREDICTIONS,
    make_arrays,
    read_examples,
    write_folder,
)

BATCH_SIZE = 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipeline") / "data"
    bounds = [0, 30, 100, 100, 333]
    write_folder(folder, make_arrays(333), bounds)
    return folder


def rows(batches):
    """Returns the token ids of each example as bytes, in order."""
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
    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY


def test_batches_hold_the_records(folder):
    examples = [e for path in find_shards(folder) for e in read_examples(path)]
    dataset = pretraining_validation_dataset(folder, BATCH_SIZE)
    batches = list(dataset)
    assert len(batches) == dataset.cardinality()
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


def test_error_of_a_damaged_file_is_one_line(tmp_path):
    (path,) = write_folder(tmp_path, make_arrays(20), [0, 20])
    content = path.read_bytes()
    path.write_bytes(content[:99] + b"damage" + content[105:])
    message = r"^A TFRecord file must be complete, [^\n]* Received: '[^\n]*again\.$"
    with pytest.raises(ValueError, match=message), plain_errors():
        rows(pretraining_dataset(tmp_path, 5, seed=1))


def test_objective_of_the_examples(folder, tmp_path):
    write_folder(tmp_path, make_arrays(20), [0, 20], sentence_pairs="none")
    dataset = pretraining_validation_dataset(tmp_path, BATCH_SIZE, sentence_pairs=False)
    _, labels, weights = dataset.element_spec
    assert [*labels] == [*weights] == ["mlm_logits"]
    message = "or False. Received: sentence_pairs={}, source=.*, made with {}. Prepare"
    for source, wanted, made in ((tmp_path, True, "none"), (folder, "ternary", "sop")):
        for dataset_of in (
            pretraining_validation_dataset,
            functools.partial(pretraining_dataset, seed=0),
        ):
            with pytest.raises(ValueError, match=message.format(wanted, made)):
                dataset_of(source, BATCH_SIZE, sentence_pairs=wanted)


def test_files_of_the_original(shared):
    path = shared / "fixtures/google_pretraining_records.tfrecord"
    features, labels, _ = next(iter(pretraining_dataset(path, 3, seed=0)))
    assert features["token_ids"].shape == (3, 512)
    assert labels["mlm_logits"].shape == (3, 77)


def test_invalid_arguments(folder):
    message = "`batch_size` must be a positive integer. Received: batch_size=0"
    with pytest.raises(ValueError, match=message):
        pretraining_dataset(folder, 0, seed=0)
    with pytest.raises(ValueError, match=message):
        pretraining_validation_dataset(folder, 0)
    config = PretrainingDataConfig(sequence_length=31)
    with pytest.raises(ValueError, match="only for token stores; .*sequence_length=31"):
        pretraining_validation_dataset(folder, BATCH_SIZE, config=config)
    for given in ({"seed": None}, {"seed": 0, "start_step": -1}):
        with pytest.raises(ValueError, match=r"an integer, at least 0. .*: (None|-1)"):
            pretraining_dataset(folder, BATCH_SIZE, **given)


@pytest.mark.parametrize("num_workers", [1, 3])
@pytest.mark.parametrize(
    "dataset_of",
    [
        pretraining_validation_dataset,
        functools.partial(pretraining_dataset, seed=4, start_step=2),
    ],
    ids=["validation", "training"],
)
def test_workers_share_each_batch(folder, num_workers, dataset_of):
    batch_size = 21
    datasets = [
        dataset_of(folder, batch_size, shard=(worker, num_workers))
        for worker in range(num_workers)
    ]
    shapes = {tuple(spec.shape) for spec in datasets[0].element_spec[0].values()}
    assert shapes == {(21 // num_workers, size) for size in (LENGTH, PREDICTIONS)}
    whole = dataset_of(folder, batch_size)
    assert {int(dataset.cardinality()) for dataset in datasets} == {
        int(whole.cardinality())
    }
    shares_of_batches = zip(*datasets, strict=True)
    for batch, shares in itertools.islice(zip(whole, shares_of_batches), 20):  # noqa: B905
        joined = tf.nest.map_structure(lambda *parts: tf.concat(parts, 0), *shares)
        size = len(batch[0]["token_ids"])
        tf.nest.map_structure(
            np.testing.assert_array_equal,
            tf.nest.map_structure(lambda values, size=size: values[:size], joined),
            batch,
        )
        for weights in joined[2].values():
            assert len(weights) == batch_size
            assert not np.any(weights[size:])


@pytest.mark.parametrize("shard", [(0, 2), (3, 3), (-1, 3)])
def test_invalid_shard(folder, shard):
    with pytest.raises(ValueError, match=r"divides the batch. Received: shard=\("):
        pretraining_validation_dataset(folder, 21, shard=shard)
