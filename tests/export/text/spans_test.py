"""Answers in the graph against `decode_answers`, with scores that are often equal."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.export.text.spans import best_spans, check_scores, choose_answers
from albert_keras.tasks.question_answering.decoding import decode_answers
from albert_keras.tokenizers.tensor_characters import code_points_of
from tests.export.text.windows_test import PAIRS, made

LIMITS = {"max_answer_length": 4, "num_best": 7}


def plain_scores(rng, num_windows, length):
    return {
        name: rng.integers(0, 6, (num_windows, length)).astype(np.float32)
        for name in ("start_logits", "end_logits")
    }


def joint_scores(rng, num_windows, length):
    starts = np.argsort(rng.random((num_windows, length)))[:, :3]
    ends = np.argsort(rng.random((num_windows, 3, length)))[:, :, :5]
    return {
        "start_positions": starts.astype(np.int32),
        "end_positions": ends.astype(np.int32),
        "start_log_probs": -rng.integers(0, 3, starts.shape).astype(np.float32),
        "end_log_probs": -rng.integers(0, 3, ends.shape).astype(np.float32),
        "answerability_logits": rng.random(num_windows).astype(np.float32),
    }


@pytest.mark.parametrize("make", [plain_scores, joint_scores])
def test_candidates_their_places_and_null_scores(make, tokenizer):
    questions, windows, tensors = made(tokenizer, PAIRS)
    shape = tensors.may_end.shape
    scores = make(np.random.default_rng(3), *shape)
    rows = np.arange(shape[0])
    expected = decode_answers(questions, windows, [(rows, scores)], **LIMITS)

    spans = best_spans(
        {name: tf.constant(value) for name, value in scores.items()},
        tensors.may_start,
        tensors.may_end,
        **LIMITS,
    )
    contexts = tf.constant([context for _, context in PAIRS])
    _, *places = tokenizer.tokenize_with_spans(contexts)
    places = [place.values for place in places]
    codes = code_points_of(contexts)
    found = choose_answers(spans, tensors, places, codes, LIMITS["num_best"])
    for number, answer in enumerate(expected):
        columns = {name: row[number].numpy().tolist() for name, row in found.items()}
        candidates = answer.candidates
        assert [t.decode() for t in columns["texts"]] == [c.text for c in candidates]
        assert columns["starts"] == [c.start for c in candidates]
        assert columns["ends"] == [c.start + len(c.text) for c in candidates]
        assert columns["scores"] == [c.score for c in candidates]
        probabilities = [c.probability for c in candidates]
        assert columns["probabilities"] == pytest.approx(probabilities)
        best = candidates[0].score if candidates and make is plain_scores else 0
        of_question = windows.question_of == number
        null_score = spans["null_scores"].numpy()[of_question].min() - best
        assert null_score == pytest.approx(answer.null_score)


def test_a_diverged_model_is_an_error():
    scores = tf.constant([[0.0, np.nan, 0.0]])
    mask = tf.ones((1, 3), tf.int32)
    outputs = {"start_logits": scores, "end_logits": scores}
    with pytest.raises(tf.errors.InvalidArgumentError, match="probably diverged"):
        check_scores(outputs, mask)
    # Padding may hold anything.
    check_scores(outputs, tf.constant([[1, 0, 0]]))
