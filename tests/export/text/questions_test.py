"""Answers of a SavedModel against `answer_questions`."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import AlbertJointQuestionAnswerer
from albert_keras.preprocessors import AlbertJointQuestionAnswererPreprocessor
from albert_keras.tasks.prediction import answer_questions, task_of
from tests.export.text.conftest import STRANGE_QUESTIONS, approximately, long_context

# Long contexts have several windows, more in all than a part.
PAIRS = [
    ("who counts?", long_context(83)),
    ("a question which is too long, and is cut?", "the lighthouse and the gulls " * 3),
    *STRANGE_QUESTIONS,
    ("who?", " \n"),
]


# The plain head is exported in tests/runs/exporting_test.py.
@pytest.mark.slow
def test_answers_are_those_of_the_model(backbone, tokenizer, serve):
    preprocessor = AlbertJointQuestionAnswererPreprocessor(
        tokenizer, sequence_length=19, doc_stride=5, max_question_length=6
    )
    model = AlbertJointQuestionAnswerer(backbone, preprocessor)
    questions, contexts = map(list, zip(*PAIRS, strict=True))
    expected = answer_questions(model, questions, contexts, max_answer_length=7)
    threshold = float(np.median([row["null_score"] for row in expected]))
    task = dataclasses.replace(
        task_of(model), max_answer_length=7, null_threshold=threshold + 1e-4
    )
    predictor, signatures = serve(model, task=task)
    expected = answer_questions(
        model, questions, contexts, max_answer_length=7, null_threshold=threshold + 1e-4
    )
    received = [
        {name: row[name] for name in ("answer", "null_score", "candidates")}
        for row in predictor.predict(PAIRS, 4)
    ]
    assert received == approximately(expected)

    signature = signatures["serving_default"]
    outputs = signature(question=tf.constant(questions), context=tf.constant(contexts))
    answers = [answer.decode() for answer in outputs["answer"].numpy()]
    assert answers == [row["answer"] for row in expected]
    assert "" in answers
    assert set(answers) != {""}
    texts = outputs["candidates"].numpy()
    starts, ends = outputs["starts"].numpy(), outputs["ends"].numpy()
    for number, context in enumerate(contexts):
        rows = texts[number], starts[number], ends[number]
        for text, start, end in zip(*rows, strict=True):
            assert text.decode() == (context[start:end] if start >= 0 else "")
    # Places are those of the text without what is not UTF-8.
    outputs = signature(
        question=tf.constant([b"wh\xffo"]),
        context=tf.constant([b"the \xc3 storms\xe2"]),
    )
    (row,) = answer_questions(model, ["who"], ["the  storms"], max_answer_length=7)
    places = [candidate["start"] for candidate in row["candidates"]]
    assert outputs["starts"].numpy().tolist() == [places]
    one = tf.constant(["a"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have its context"):
        signature(question=one[:0], context=one)
