"""Replaced-token detection as a task: targets, weights, seeds and scores."""

import keras
import numpy as np
import pytest

from albert_keras.models import AlbertBackbone
from albert_keras.pretraining import (
    PretrainingDataConfig,
    PretrainingTask,
    ReplacedTokensTask,
    prepare_pretraining_data,
)

VOCABULARY_SIZE, LENGTH, BATCH = 331, 23, 8
SPECIAL = (0, 1, 2, 3, 4)


@pytest.fixture(scope="module", params=["padded", "filled"])
def records(request, tmp_path_factory, documents, tokenizer):
    folder = tmp_path_factory.mktemp("records") / request.param
    config = PretrainingDataConfig(
        LENGTH, dupe_factor=1, num_shards=1, packing=request.param
    )
    prepare_pretraining_data(documents[:29], tokenizer, folder, config)
    return folder


def make_task(**options):
    return ReplacedTokensTask(special_token_ids=SPECIAL, **options)


def make_model(task):
    keras.utils.set_random_seed(3)
    return task.build_model(
        AlbertBackbone.from_config_preset(
            "albert_test",
            num_layers=1,
            vocabulary_size=VOCABULARY_SIZE,
            max_sequence_length=LENGTH,
        )
    )


def arrays(batch):
    return keras.tree.map_structure(np.asarray, batch)


def first_batch(records, **options):
    batches = make_task().make_dataset(records, BATCH, seed=5, **options)
    return arrays(next(iter(batches)))


def test_targets_are_the_original_ids_and_special_tokens_have_no_weight(records):
    features, labels, weights = batch = first_batch(records)
    plain = PretrainingTask().make_dataset(records, BATCH, seed=5)
    for given, expected in zip(batch, next(iter(plain)), strict=True):
        for name, value in expected.items():
            assert np.array_equal(given[name], value), name
    is_real = features.get("sequence_ids", features["padding_mask"])
    for row, masked_ids in enumerate(features["token_ids"]):
        original = list(masked_ids)
        for position, piece, weight in zip(
            features["mask_positions"][row],
            labels["mlm_logits"][row],
            weights["mlm_logits"][row],
            strict=True,
        ):
            if weight:
                original[position] = piece
        assert labels["detection"][row].tolist() == original
        expected = [
            piece not in SPECIAL and real > 0
            for piece, real in zip(original, is_real[row], strict=True)
        ]
        assert weights["detection"][row].tolist() == expected


def test_seeds_depend_on_the_step_and_the_row_of_the_whole_batch(records):
    batches = make_task().make_dataset(records, BATCH, seed=5).take(3)
    seeds = [batch[0]["sample_seeds"].numpy() for batch in batches]
    assert len({tuple(seed) for seed in np.concatenate(seeds)}) == 3 * BATCH
    resumed = first_batch(records, start_step=2)[0]["sample_seeds"]
    assert np.array_equal(resumed, seeds[2])
    parts = [first_batch(records, shard=(i, 2))[0]["sample_seeds"] for i in range(2)]
    assert np.array_equal(np.concatenate(parts), seeds[0])


def test_rows_that_fill_up_the_last_batch_are_not_counted(records):
    task = make_task()
    *_, (_, _, weights) = task.make_validation_dataset(records, BATCH, shard=(0, 1))
    plain = PretrainingTask().make_validation_dataset(records, BATCH, shard=(0, 1))
    *_, (_, _, expected) = plain
    is_there = expected["mlm_logits"].numpy().any(axis=1)
    assert np.array_equal(weights["detection"].numpy().any(axis=1), is_there)


def binary_cross_entropy(logits, targets):
    return np.logaddexp(0.0, logits) - logits * targets


@pytest.mark.slow
@pytest.mark.parametrize("records", ["filled"], indirect=True)
def test_scores_and_loss_are_means_over_tokens(records):
    task = make_task(detection_weight=31.0, generator_width=10, generator_layers=2)
    model = make_model(task)
    assert model.generator.albert_config.num_layers == 2
    results = task.evaluate(model, records, BATCH)
    (batch,) = task.make_validation_dataset(records, 10_000)
    # Its rows have other seeds than those of small batches.
    features, labels, weights = arrays(batch)
    features["sample_seeds"] = np.concatenate(
        [
            small["sample_seeds"].numpy()
            for small, *_ in task.make_validation_dataset(records, BATCH)
        ]
    )
    outputs = arrays(model(features))
    logits, pieces = np.moveaxis(outputs["detection"].astype("float64"), 2, 0)
    replaced, counted = pieces != labels["detection"], weights["detection"] > 0
    # Pieces that were sampled as they stood there are originals.
    assert 0 < replaced.sum() < (weights["mlm_logits"] > 0).sum()
    losses = binary_cross_entropy(logits, replaced)[counted]
    right = ((logits > 0) == replaced)[counted]
    expected = {
        "detection_loss": losses.mean(),
        "detection_accuracy": right.mean(),
        "detection_replaced_share": replaced[counted].mean(),
        "detection_recall": (logits > 0)[counted & replaced].mean(),
    }
    assert {name: results[name] for name in expected} == pytest.approx(
        expected, rel=1e-4
    )
    assert "mlm_loss" not in results
    model.compile("sgd", task.losses())
    loss = model.compute_loss(features, labels, outputs, weights)
    parts = results["generator_loss"] + results["sop_loss"] + 31 * losses.mean()
    assert float(loss) == pytest.approx(parts, rel=1e-4)
