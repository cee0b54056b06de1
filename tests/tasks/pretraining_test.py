"""Pretraining as a task, on records made of the embedded sample."""

import keras
import numpy as np
import pytest

from albert_keras import sample
from albert_keras.data import (
    PretrainingDataConfig,
    prepare_pretraining_data,
    pretraining_dataset,
    read_documents,
)
from albert_keras.models import AlbertBackbone
from albert_keras.tasks import PretrainingTask, unigram_loss
from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece

VOCABULARY_SIZE, LENGTH, BATCH = 400, 23, 37


@pytest.fixture(scope="module")
def tokenizer():
    documents = read_documents(sample.CORPUS)
    sentences = (sentence for document in documents for sentence in document)
    return AlbertTokenizer(train_sentence_piece(sentences, VOCABULARY_SIZE))


@pytest.fixture(scope="module")
def records(tmp_path_factory, tokenizer):
    folder = tmp_path_factory.mktemp("records") / "sop"
    config = PretrainingDataConfig(LENGTH, dupe_factor=1, num_shards=3)
    prepare_pretraining_data(read_documents(sample.CORPUS), tokenizer, folder, config)
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
    for features, labels, weights in pretraining_dataset(records, 211):
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


def test_unigram_loss_is_the_entropy_on_its_own_targets(records):
    counts = np.zeros(VOCABULARY_SIZE)
    for _, labels, weights in pretraining_dataset(records, 100):
        targets = labels["mlm_logits"].numpy()[weights["mlm_logits"].numpy() > 0]
        np.add.at(counts, targets, 1)
    shares = counts[counts > 0] / counts.sum()
    entropy = -(shares * np.log(shares)).sum()
    loss = unigram_loss(records, records, VOCABULARY_SIZE)
    # Add-one smoothing costs a little.
    assert entropy < loss < entropy + 0.1


def test_without_pairs_there_is_one_output(records):
    task = PretrainingTask(sentence_pairs=False)
    assert set(task.losses()) == set(task.metrics()) == {"mlm_logits"}
    backbone = AlbertBackbone.from_config_preset(
        "albert_test", vocabulary_size=VOCABULARY_SIZE, max_sequence_length=LENGTH
    )
    model = task.build_model(backbone)
    model.compile(keras.optimizers.Adam(), task.losses())
    pooler = [keras.ops.convert_to_numpy(v) for v in backbone.pooler.weights]
    logs = model.fit(task.make_dataset(records, BATCH).take(2), verbose=0).history
    assert np.isfinite(logs["loss"][0])
    for before, after in zip(pooler, backbone.pooler.weights, strict=True):
        assert np.array_equal(before, keras.ops.convert_to_numpy(after))
    assert "sop_accuracy" not in task.evaluate(model, records, BATCH)
