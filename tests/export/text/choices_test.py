"""Multiple choice of a SavedModel against the task."""

import pytest
import tensorflow as tf

from albert_keras.models import AlbertMultipleChoice
from albert_keras.preprocessors import AlbertMultipleChoicePreprocessor
from albert_keras.tasks.prediction import task_of
from tests.export.text.conftest import STRANGE, approximately

QUESTIONS = [
    ("the gulls count storms", "who _ the __ lighthouse?", [r"a\1", "2012,", "\\"]),
    (
        "storms " * 30,
        "what is it, and why is it so very long?",
        ["x", "", "boats " * 9],
    ),
    *((text, f"{text}_", [text, "storms", "_"]) for text in STRANGE),
]


@pytest.mark.slow
def test_choices_score_as_by_the_task(backbone, tokenizer, serve):
    preprocessor = AlbertMultipleChoicePreprocessor(
        tokenizer, sequence_length=19, max_question_length=9
    )
    model = AlbertMultipleChoice(backbone, preprocessor)
    predictor, signatures = serve(model)
    task = task_of(model)
    prepared = task.prepare(task.rows_of(QUESTIONS))
    expected = task.describe(prepared, task.predict(model, prepared, 3))
    assert predictor.predict(QUESTIONS, 3) == approximately(expected)

    signature = signatures["serving_default"]
    outputs = signature(
        context=tf.constant(["the storms"]),
        question=tf.constant(["_"]),
        choices=tf.constant([["a", "b"]]),
    )
    prepared = task.prepare(task.rows_of([("the storms", "_", ["a", "b"])]))
    (row,) = task.describe(prepared, task.predict(model, prepared, 3))
    assert outputs["logits"].numpy()[0].tolist() == approximately(row["logits"])
    assert outputs["label"].numpy().tolist() == [row["label"].encode()]
    one = tf.constant(["a"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="from 2 to 26 choices"):
        signature(context=one, question=one, choices=tf.constant([["a"]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have a context and"):
        signature(context=one, question=one[:0], choices=tf.constant([["a", "b"]]))
