"""Pretraining as a task, on records of random documents."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import AlbertBackbone
from albert_keras.pretraining import (
    PretrainingDataConfig,
    PretrainingTask,
    prepare_pretraining_data,
    pretraining_validation_dataset,
)
from tests.packed_rows import packed_batch, separate_batch

VOCABULARY_SIZE, LENGTH, BATCH = 331, 23, 37


@pytest.fixture(scope="module")
def records(tmp_path_factory, documents, tokenizer):
    folder = tmp_path_factory.mktemp("records") / "sop"
    config = PretrainingDataConfig(LENGTH, dupe_factor=1, num_shards=3)
    prepare_pretraining_data(documents, tokenizer, folder, config, format="tfrecord")
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory, documents, tokenizer):
    folder = tmp_path_factory.mktemp("store") / "sop"
    config = PretrainingDataConfig(LENGTH)
    prepare_pretraining_data(documents, tokenizer, folder, config)
    return folder


@pytest.fixture
def model():
    backbone = AlbertBackbone.from_config_preset(
        "albert_test", vocabulary_size=VOCABULARY_SIZE, max_sequence_length=LENGTH
    )
    return PretrainingTask().build_model(backbone)


def test_evaluation_counts_tokens_not_batches(model, records):
    results = PretrainingTask().evaluate(model, records, BATCH)
    total = correct = num_predictions = swapped = num_examples = 0
    for features, labels, weights in pretraining_validation_dataset(records, 211):
        outputs = model.predict_on_batch(features)
        logits = outputs["mlm_logits"].astype("float64")
        log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        targets, weight = labels["mlm_logits"].numpy(), weights["mlm_logits"].numpy()
        picked = np.take_along_axis(log_probs, targets[..., None], -1)[..., 0]
        total -= (picked * weight).sum()
        correct += ((logits.argmax(-1) == targets) * weight).sum()
        num_predictions += weight.sum()
        answers = outputs["sop_logits"].argmax(-1)
        swapped += (answers == labels["sop_logits"].numpy()).sum()
        num_examples += len(answers)
    assert results["num_predictions"] == num_predictions
    assert results["num_examples"] == num_examples
    assert results["mlm_loss"] == pytest.approx(total / num_predictions, abs=1e-4)
    assert results["mlm_accuracy"] == pytest.approx(correct / num_predictions)
    rate = swapped / num_examples
    assert results["sop_accuracy"] == pytest.approx(rate)
    interval = 1.96 * (rate * (1 - rate) / num_examples) ** 0.5
    assert results["sop_accuracy_95_margin"] == pytest.approx(interval, rel=1e-4)


def test_evaluation_leaves_the_model_compiled_as_it_was(model, records):
    model.compile("adam", metrics={"mlm_logits": ["accuracy"]})
    data = PretrainingTask().make_dataset(records, BATCH, seed=5).take(2)
    keras.Model.fit(model, data, shuffle=False, verbose=0)
    optimizer, metrics = model.optimizer, model.metrics
    slots = [keras.ops.convert_to_numpy(v) for v in optimizer.variables]
    means = [float(metric) for metric in model.metrics_variables]
    PretrainingTask().evaluate(model, records, BATCH)
    assert model.optimizer is optimizer
    assert [*map(id, model.metrics)] == [*map(id, metrics)]
    assert [float(metric) for metric in model.metrics_variables] == means
    for before, after in zip(slots, optimizer.variables, strict=True):
        assert np.array_equal(before, keras.ops.convert_to_numpy(after))
    keras.Model.fit(model, data, shuffle=False, verbose=0)
    assert int(optimizer.iterations) == 4


def test_config_of_a_token_store(model, store):
    task = PretrainingTask()
    results = task.evaluate(model, store, BATCH)
    # The same each time, though the examples are made again.
    assert task.evaluate(model, store, BATCH) == results
    batches = task.make_validation_dataset(store, BATCH)
    assert (
        sum(len(features["token_ids"]) for features, *_ in batches)
        == (results["num_examples"])
    )
    # Its examples are made for the objective that is asked for.
    of_three = PretrainingTask("ternary").make_validation_dataset(store, BATCH)
    found = {
        label for _, y, _ in of_three for label in y["sop_logits"].numpy().tolist()
    }
    assert found == {0, 1, 2}
    filled = PretrainingDataConfig(
        sequence_length=131, masking="whole_word", masked_rate=0.3, packing="filled"
    )
    batches = task.make_dataset(store, 7, seed=3, config=filled)
    features, labels, weights = next(iter(batches))
    assert features["token_ids"].shape == (7, 131)
    assert labels["sop_logits"].shape == features["pair_positions"].shape
    assert 7 < weights["sop_logits"].numpy().sum()
    masked = weights["mlm_logits"].numpy().sum(axis=1)
    assert masked / 131 == pytest.approx(0.3, abs=0.03)
    (again, *_) = next(iter(task.make_dataset(store, 7, seed=3, config=filled)))
    assert np.array_equal(again["token_ids"], features["token_ids"])


def test_without_pairs_there_is_one_output(records):
    task = PretrainingTask(sentence_pairs="none")
    assert set(task.losses()) == set(task.metrics()) == {"mlm_logits"}
    backbone = AlbertBackbone.from_config_preset(
        "albert_test", vocabulary_size=VOCABULARY_SIZE, max_sequence_length=LENGTH
    )
    model = task.build_model(backbone)
    model.compile(keras.optimizers.Adam(), task.losses())
    pooler = [keras.ops.convert_to_numpy(v) for v in backbone.pooler.weights]
    logs = model.fit(
        task.make_dataset(records, BATCH, seed=5).take(2), verbose=0
    ).history
    assert np.isfinite(logs["loss"][0])
    for before, after in zip(pooler, backbone.pooler.weights, strict=True):
        assert np.array_equal(before, keras.ops.convert_to_numpy(after))
    assert "sop_accuracy" not in task.evaluate(model, records, BATCH)


class InMemoryTask(PretrainingTask):
    """Takes a batch in memory instead of records."""

    def make_validation_dataset(self, source, batch_size, **_):
        return tf.data.Dataset.from_tensor_slices(source).batch(batch_size)


@pytest.mark.parametrize("sentence_pairs", ["sop", "none"])
def test_packed_rows_measure_as_rows_of_one_example(sentence_pairs):
    backbone = AlbertBackbone.from_config_preset("albert_test", max_sequence_length=41)
    task = InMemoryTask(sentence_pairs=sentence_pairs)
    model = task.build_model(backbone)
    results = []
    for features, labels, weights in (separate_batch(), packed_batch()):
        if sentence_pairs == "none":
            labels.pop("sop_logits"), weights.pop("sop_logits")
            features.pop("pair_positions", None)
        # Cut so that the last batch is a smaller one.
        results.append(task.evaluate(model, (features, labels, weights), batch_size=3))
    separate, packed = results
    assert packed["num_examples"] == 11
    assert packed["num_predictions"] == separate["num_predictions"]
    assert set(packed) == set(separate)
    for name, value in separate.items():
        assert packed[name] == pytest.approx(value, rel=1e-5), name
