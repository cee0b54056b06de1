"""InfoNCE, CoSENT and a teacher's vectors, against plain NumPy."""

import keras
import numpy as np
import pytest

from albert_keras.models.embedding_losses import (
    ContrastiveLoss,
    CosentLoss,
    TeacherVectorLoss,
)

DRAW = np.random.default_rng(3)
VECTORS = (DRAW.normal(size=(7, 3, 8)) + 2).astype("float32")
NUMBERS = np.arange(21).reshape(7, 3)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def cross_entropy(logits, chosen):
    return np.log(np.exp(logits).sum()) - logits[chosen]


def info_nce(numbers, vectors):
    """Returns the loss one row after the other."""
    vectors, total = unit(vectors), 0.0
    rows, columns = numbers.shape
    for i in range(rows):
        own = set(numbers[i, :2].tolist())
        there, back = [20 * vectors[i, 0] @ vectors[i, 1]], []
        back = there.copy()
        for j in range(rows):
            apart = i != j and not own & set(numbers[j, :2].tolist())
            if apart:
                there.append(20 * vectors[i, 0] @ vectors[j, 1])
                back.append(20 * vectors[j, 0] @ vectors[i, 1])
            for column in range(2, columns):
                if numbers[j, column] not in own:
                    there.append(20 * vectors[i, 0] @ vectors[j, column])
        total += cross_entropy(np.array(there), 0) + cross_entropy(np.array(back), 0)
    return total / 2 / rows


@pytest.mark.parametrize("num_texts", [2, 3])
def test_a_text_finds_its_pair_in_the_batch(num_texts):
    numbers, vectors = NUMBERS[:, :num_texts], VECTORS[:, :num_texts]
    received = float(ContrastiveLoss()(numbers, vectors))
    assert received == pytest.approx(info_nce(numbers, vectors), rel=1e-5)


@pytest.mark.parametrize(
    ("place", "same"),
    [((2, 0), (4, 0)), ((2, 1), (4, 1)), ((2, 0), (4, 1)), ((2, 2), (4, 0))],
)
def test_a_repeated_text_is_no_negative_of_itself(place, same):
    numbers = NUMBERS.copy()
    numbers[place] = numbers[same]
    received = float(ContrastiveLoss()(numbers, VECTORS))
    assert received == pytest.approx(info_nce(numbers, VECTORS), rel=1e-5)
    assert received < float(ContrastiveLoss()(NUMBERS, VECTORS))


def test_higher_scores_must_have_higher_cosines():
    scores, vectors = np.array([3.0, 1, 1, 5, 2, 0, 3], "float32"), unit(VECTORS)
    cosines = (vectors[:, 0] * vectors[:, 1]).sum(-1)
    total = 1.0
    for i in range(7):
        for j in range(7):
            if scores[i] > scores[j]:
                total += np.exp(20 * (cosines[j] - cosines[i]))
    # `fit` on arrays makes columns of scores.
    received = float(CosentLoss()(scores[:, None], VECTORS[:, :2]))
    assert received == pytest.approx(np.log(total), rel=1e-5)


def test_leading_dimensions_of_a_teachers_vectors():
    taught = DRAW.normal(size=(7, 8)).astype("float32")
    expected = [
        np.mean((unit(VECTORS[:, 0, :size]) - unit(taught[:, :size])) ** 2)
        for size in (8, 3, 6)
    ]
    loss = TeacherVectorLoss(least_dimensions=3)
    loss = keras.losses.deserialize(keras.losses.serialize(loss))
    received = float(loss(taught, VECTORS[:, :1]))
    assert received == pytest.approx(np.mean(expected), rel=1e-5)
