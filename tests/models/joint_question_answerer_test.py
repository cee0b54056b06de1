"""The joint question answerer against a NumPy version of the original's code."""

import keras
import numpy as np
import pytest

from albert_keras.models import AlbertJointQuestionAnswerer
from tests.helpers import max_difference, randomize
from tests.models.small_models import (
    ALLOWED,
    ANSWERS,
    INPUTS,
    SPAN_INPUTS,
    STARTS,
    make_model,
)


@pytest.fixture(scope="module")
def answerer():
    keras.utils.set_random_seed(3)
    return randomize(make_model(AlbertJointQuestionAnswerer))


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def dense(x, weights, name):
    return x @ weights[f"{name}kernel"] + weights.get(f"{name}bias", 0.0)


def masked(logits, allowed):
    return logits * allowed - 1e30 * (1 - allowed)


def reference(answerer):
    """Returns logits of starts, of ends given each of the starts, and of no answer."""
    weights = {v.path: v.numpy().astype("float64") for v in answerer.weights}
    tokens = answerer.backbone(INPUTS)["sequence_output"]
    tokens = np.array(tokens).astype("float64")
    start = masked(dense(tokens, weights, "start_logits/dense/")[..., 0], ALLOWED)
    ends = []
    for place in range(13):
        repeated = np.repeat(tokens[:, place : place + 1], 13, axis=1)
        x = np.concatenate([tokens, repeated], axis=-1)
        x = np.tanh(dense(x, weights, "end_logits/hidden_"))
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-12)
        x = x * weights["end_logits/layer_norm/gamma"]
        x = x + weights["end_logits/layer_norm/beta"]
        ends.append(masked(dense(x, weights, "end_logits/dense/")[..., 0], ALLOWED))
    mean = (softmax(start)[..., np.newaxis] * tokens).sum(1)
    x = np.concatenate([mean, tokens[:, 0]], axis=-1)
    x = np.tanh(dense(x, weights, "answerability_logits/hidden/"))
    return start, np.stack(ends, 1), dense(x, weights, "answerability_logits/dense/")


def test_outputs_equal_the_original(answerer):
    start, ends, no_answer = reference(answerer)
    expected = {
        "start_logits": start,
        "end_logits": ends[np.arange(5), STARTS],
        "answerability_logits": no_answer,
    }
    received = {name: np.array(value) for name, value in answerer(ANSWERS).items()}
    for name in ("start_logits", "end_logits"):
        assert (received[name][ALLOWED == 0] == np.float32(-1e30)).all()
        received[name], expected[name] = (
            logits[name][ALLOWED == 1] for logits in (received, expected)
        )
    assert max_difference(received, expected) < 1e-5


def test_beam_equals_the_original(answerer):
    start, ends, no_answer = reference(answerer)
    start, ends = np.log(softmax(start) + 1e-300), np.log(softmax(ends) + 1e-300)
    starts = np.argsort(-start)[:, :4]
    ends = np.take_along_axis(ends, starts[..., np.newaxis], axis=1)
    places = np.argsort(-ends)[..., :2]
    received = answerer.beam_model(num_starts=4, num_ends=2)(SPAN_INPUTS)
    expected = {
        "start_log_probs": np.take_along_axis(start, starts, axis=1),
        "start_positions": starts,
        "end_log_probs": np.take_along_axis(ends, places, axis=2),
        "end_positions": places,
        "answerability_logits": no_answer[:, 0],
    }
    for name in ("start_positions", "end_positions"):
        assert (np.array(received[name]) == expected[name]).all()
    assert max_difference(received, expected) < 1e-5


@pytest.mark.parametrize("num_allowed", [5, 3])
def test_masked_positions_are_not_chosen_before_all_others(num_allowed, answerer):
    # Where the fewest pieces are real, but for the question.
    mask = (np.arange(13) < num_allowed) * np.ones((5, 1))
    inputs = {**SPAN_INPUTS, "answer_mask": mask}
    spans = answerer.beam_model()(inputs)
    for name in ("start", "end"):
        positions = np.array(spans[f"{name}_positions"])
        log_probs = np.array(spans[f"{name}_log_probs"])
        assert (positions[..., :num_allowed] < num_allowed).all()
        assert (log_probs[..., :num_allowed] > -100).all()
        assert (log_probs[..., num_allowed:] < -1e29).all()


def test_loss_is_half_the_sum_of_three_cross_entropies():
    answerer = make_model(AlbertJointQuestionAnswerer)
    assert not [v.path for v in answerer.trainable_variables if "pooler" in v.path]
    labels = {
        "start_logits": STARTS,
        "end_logits": np.array([5, 0, 5, 4, 0]),
        "answerability_logits": np.array([0, 1, 0, 0, 1]),
    }
    logits = {name: np.array(x, "float64") for name, x in answerer(ANSWERS).items()}
    of_positions = [
        -np.log(softmax(logits[name])[np.arange(5), labels[name]]).mean()
        for name in ("start_logits", "end_logits")
    ]
    signs = 1 - 2 * labels["answerability_logits"]
    of_answers = np.log1p(np.exp(signs * logits["answerability_logits"][:, 0])).mean()
    expected = (sum(of_positions) + of_answers) / 2
    logs = answerer.evaluate(ANSWERS, labels, batch_size=3, return_dict=True, verbose=0)
    assert logs["loss"] == pytest.approx(expected, rel=1e-5)
    assert {f"{name}_accuracy" for name in labels} <= logs.keys()
    labels["answerability_logits"] = np.array([[0.0], [1.0], [0.0], [0.0], [1.0]])
    loss = answerer.compute_loss(ANSWERS, labels, answerer(ANSWERS))
    assert float(loss) == pytest.approx(expected, rel=1e-5)
