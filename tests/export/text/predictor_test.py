"""Answers of signatures, read as those of tasks."""

import types

import pytest
import tensorflow as tf

from albert_keras.export.text.predictor import BatchedSignature, TaskPredictor


def test_rows_are_sent_in_batches_and_answers_are_described():
    calls = []

    def serve(words):
        calls.append(tuple(words.shape))
        lengths = tf.strings.length(words)
        shares = tf.cast(lengths, tf.float32) / 100
        return {"tags": tf.where(lengths > 1, "B-X", "O"), "probabilities": shares}

    loaded = types.SimpleNamespace(signatures={"serve_words": serve})
    description = {"kind": "tagging", "labels": ["O", "B-X"], "default": "O"}
    run = BatchedSignature(loaded, "serve_words", ("words",))
    predictor = TaskPredictor(description, run)
    assert predictor.labels == ("O", "B-X")
    sentences = ["a bc", ["de", "f g", ""], "h" * 99]
    rows = predictor.predict(sentences, batch_size=2)
    (entity,) = rows[0]["entities"]
    assert entity.pop("score") == pytest.approx(0.02)
    assert entity == {"text": "bc", "type": "X", "start": 2, "end": 4}
    tags = [row["tags"] for row in rows]
    assert tags == [["O", "B-X"], ["B-X", "B-X", "O"], ["B-X"]]
    assert sorted(calls) == [(1, 1), (2, 3)]
    with pytest.raises(ValueError, match="lone surrogates"):
        predictor.predict(["a\ud83d"])
    with pytest.raises(ValueError, match="`batch_size`.*Received: .*0"):
        predictor.predict(["a"], 0)
