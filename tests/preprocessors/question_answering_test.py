"""Questions and contexts to features, and answers to positions of tokens."""

import numpy as np
import pytest

from albert_keras.preprocessors import (
    AlbertJointQuestionAnswererPreprocessor,
    AlbertQuestionAnswererPreprocessor,
)
from tests.helpers import max_difference

QUESTIONS = ["Who wrote it?", "Who?", "What is it?", "When?"]
FILLER = "It was a long and cold winter, and nobody came. " * 3
CONTEXTS = ["It was written by Ann.", FILLER + "Then Bob came.", "A house.", "No."]
ANSWERS = {
    "text": [["Ann", "by Ann"], ["Bob"], ["a mouse"], [""]],
    "answer_start": [[18, 15], [-1], [0], [0]],
}
LENGTH = 37


@pytest.fixture
def preprocessor(tokenizer):
    return AlbertQuestionAnswererPreprocessor(
        tokenizer, sequence_length=LENGTH, doc_stride=11, max_question_length=9
    )


def test_answers_are_where_the_labels_say(preprocessor, tokenizer):
    x = (QUESTIONS, CONTEXTS)
    features, labels, weights = preprocessor(x, ANSWERS)
    assert {array.shape for array in features.values()} == {(4, LENGTH)}
    spans = (
        features["token_ids"].tolist(),
        labels["start_logits"],
        labels["end_logits"],
    )
    found = [
        tokenizer.detokenize(ids[first : last + 1])
        for ids, first, last in zip(*spans, strict=True)
    ]
    assert [text.strip(" .") for text in found[:2]] == ["ann", "bob"]
    # The third answer is not in its context, the fourth question has none.
    assert labels["start_logits"].tolist()[2:] == [0, 0]
    assert weights["end_logits"].tolist() == [1, 1, 0, 1]
    half = preprocessor(x, ANSWERS, np.array([0.5, 0.25, 0.5, 1]))[2]
    assert half["start_logits"].tolist() == [0.5, 0.25, 0, 1]


def test_joint_head(tokenizer):
    preprocessor = AlbertJointQuestionAnswererPreprocessor(
        tokenizer, LENGTH, max_question_length=9
    )
    features, labels, _ = preprocessor((QUESTIONS, CONTEXTS), ANSWERS)
    assert labels["answerability_logits"].tolist() == [0, 0, 1, 1]
    assert features["start_positions"] is labels["start_logits"]
    assert features["answer_mask"][:, 0].tolist() == [1] * 4
    assert preprocessor(x=(QUESTIONS, CONTEXTS))["start_positions"].tolist() == [0] * 4


def test_x_must_be_questions_and_contexts(preprocessor):
    for x, found in ((QUESTIONS, "list of 4"), (QUESTIONS[:2], "list of 2")):
        with pytest.raises(ValueError, match=f"tuple of question, context.*{found}"):
            preprocessor(x=x)


def test_rows_of_tuples_and_dicts(preprocessor):
    expected = preprocessor((QUESTIONS, CONTEXTS), ANSWERS)
    pairs = [*zip(QUESTIONS, CONTEXTS, strict=True)]
    named = [{"context": c, "question": q, "id": "1"} for q, c in pairs]
    answers = [
        {"text": texts, "answer_start": starts}
        for texts, starts in zip(*ANSWERS.values(), strict=True)
    ]
    for x in (pairs, named, {"question": QUESTIONS, "context": CONTEXTS}):
        received = preprocessor(x, answers)
        assert max_difference(received[:2], expected[:2]) == 0
    with pytest.raises(ValueError, match="`y` must be dicts with text and answer_st"):
        preprocessor(pairs, [{"text": "Ann"}] * 4)


def test_a_question_fills_at_most_half_of_a_short_row(preprocessor):
    tokenizer = preprocessor.tokenizer
    for length, expected in ((62, 31), (512, 64)):
        short = type(preprocessor)(tokenizer, length)
        assert short.get_config()["max_question_length"] == expected


def test_answers_that_are_not_where_they_should_be(preprocessor):
    x = (["Who?"] * 4, ["Ann and Bob"] * 4)
    y = {"text": ["Ann", "Bob", "Bob", "Ben"], "answer_start": [4, 8, -1, 0]}
    message = "4 answers; 1 are not in it, and have weight 0; 1 are elsewhere"
    with pytest.warns(UserWarning, match=message):
        preprocessor.columns(x, y, is_batch=False)
    for texts in (["Ben"] * 4, ["Ben", "", "", ""]):
        with pytest.raises(ValueError, match="Received: . answers, none of which is"):
            preprocessor.columns(x, {**y, "text": texts}, is_batch=False)
    # Nor without answers, or where all are found.
    for texts in ([""] * 4, ["", "Bob", "Bob", "Ann"]):
        preprocessor.columns(x, {**y, "text": texts}, is_batch=False)
