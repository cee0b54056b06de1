"""Checks that every fine-tuning task must pass, on a few rows."""

import dataclasses
import json

import keras
import numpy as np

from albert_keras import sample
from albert_keras.converters import load_checkpoint
from albert_keras.models import AlbertBackbone
from albert_keras.optimizers import AdamW
from albert_keras.tasks.question_answering.decoding import Answer
from albert_keras.tasks.tagging import PredictedTags
from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
from tests.helpers import make_config

VOCABULARY_SIZE, LENGTH = 437, 37


def make_tokenizer():
    """Returns a tokenizer trained on the sample."""
    texts = sample.CORPUS.read_text("utf-8").splitlines()
    return AlbertTokenizer(train_sentence_piece(texts, VOCABULARY_SIZE))


def make_backbone():
    """Returns a small backbone for that vocabulary, whose outputs tell texts apart."""
    keras.utils.set_random_seed(5)
    config = make_config(
        num_layers=1,
        vocabulary_size=VOCABULARY_SIZE,
        max_sequence_length=LENGTH,
        initializer_range=0.2,
    )
    return AlbertBackbone(**config.to_dict())


def with_length(task):
    """Returns a task for sequences of `LENGTH` tokens."""
    recipe = dataclasses.replace(task.recipe, sequence_length=LENGTH)
    return dataclasses.replace(task, recipe=recipe)


def run_task_test(task, rows, tokenizer, tmp_path, *, learned=("accuracy", 0.99)):
    """Checks a task from rows to a score, and back from a saved run.

    It must learn its few training rows by heart; give the same predictions and scores
    whatever the batch, the order of lengths and after loading; and give JSON.

    Args:
        task: `FinetuningTask` before `for_run`.
        rows: Labelled rows.
        tokenizer: See `make_tokenizer`.
        tmp_path: Folder.
        learned: Name of a score and what it must at least become.

    Returns:
        Tuple of the task, its prepared rows, the trained model and its predictions.
    """
    bare = with_length(task)
    task = bare.for_run(rows, tokenizer)
    prepared = task.prepare(rows, training=True)
    model = task.build_model(make_backbone())
    learner = task.learner_of(model)
    learner.compile(
        optimizer=AdamW(0.01), loss=task.losses(), weighted_metrics=task.metrics()
    )
    dataset = task.make_dataset(prepared, 3, seed=1)
    history = learner.fit(dataset, steps_per_epoch=60, shuffle=False, verbose=0)
    assert np.isfinite(history.history["loss"][0])
    assert task.prior_loss(prepared) > 0
    prepared = task.prepare(rows)
    predictions = task.predict(model, prepared, 2)
    scores = task.score(prepared, predictions)
    name, least = learned
    assert scores[name] >= least, scores
    assert task.main_metric in scores
    assert scores["num_examples"] == len(task.text_keys(rows))
    json.dumps([scores, task.report(prepared, predictions), task.run_facts()])
    described = task.describe(prepared, predictions)
    json.dumps(described)
    assert all("text" in row for row in described)

    assert_same(task.predict(model, prepared, 5), predictions)
    model.save_to_preset(str(tmp_path / "model"))
    facts = json.loads(json.dumps(task.run_facts()))
    again = bare.for_run(None, tokenizer, **facts)
    loaded = load_checkpoint(tmp_path / "model")
    assert_same(again.predict(loaded, again.prepare(rows), 2), predictions)
    return task, prepared, model, predictions


def assert_same(received, expected):
    """Checks that predictions are equal, numbers up to rounding."""
    if isinstance(expected, np.ndarray):
        np.testing.assert_allclose(received, expected, atol=2e-5)
    elif isinstance(expected[0], Answer):
        assert [answer.text for answer in received] == [a.text for a in expected]
        null_scores = [[a.null_score for a in x] for x in (received, expected)]
        np.testing.assert_allclose(*null_scores, atol=2e-5)
    elif isinstance(expected, PredictedTags):
        assert received.tags == expected.tags
        for pair in zip(received.probabilities, expected.probabilities, strict=True):
            np.testing.assert_allclose(*pair, atol=2e-5)
    else:
        assert received == expected
