"""Losses of a student: values of PyTorch's formulas, and what they ignore."""

import numpy as np
import pytest
from keras import ops

from albert_keras.compression import cosine_loss, hidden_state_loss, soft_target_loss

torch = pytest.importorskip("torch")

DRAW = np.random.default_rng(3)
BATCH, LENGTH, WIDTH, TEACHER_WIDTH, NUM_CLASSES = 2, 5, 12, 18, 7
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])


def normal(*shape):
    return DRAW.normal(size=shape).astype("float32")


def counted(values):
    """The mean over the tokens of the mask."""
    return float(ops.convert_to_numpy(values)[MASK == 1].mean())


def selected(x):
    """The rows of the mask, as DistilBERT's `distiller.py` selects them."""
    return torch.tensor(x)[torch.tensor(MASK == 1)]


def test_soft_targets_are_those_of_distilbert():
    student, teacher = (3 * normal(BATCH, LENGTH, NUM_CLASSES) for _ in range(2))
    expected = 2.0**2 * torch.nn.KLDivLoss(reduction="batchmean")(
        torch.log_softmax(selected(student) / 2.0, dim=-1),
        torch.softmax(selected(teacher) / 2.0, dim=-1),
    )
    received = counted(soft_target_loss(student, teacher))
    assert received == pytest.approx(float(expected), rel=1e-5)


def test_the_cosine_is_that_of_distilbert():
    student, teacher = (normal(BATCH, LENGTH, WIDTH) for _ in range(2))
    target = torch.ones(int(MASK.sum()))
    loss = torch.nn.CosineEmbeddingLoss(reduction="mean")
    expected = loss(selected(student), selected(teacher), target)
    received = counted(cosine_loss(student, teacher))
    assert received == pytest.approx(float(expected), rel=1e-5)
    assert counted(cosine_loss(0 * student, teacher)) == 1.0


def test_hidden_states_are_compared_at_matched_depths():
    teacher = [normal(BATCH, LENGTH, WIDTH) for _ in range(1 + 6)]
    # The embedding does not count.
    student = [normal(BATCH, LENGTH, WIDTH), 3 * teacher[3], -teacher[6]]
    assert counted(hidden_state_loss(student, teacher)) == pytest.approx(1.0)


def test_losses_of_half_precision_are_float32():
    student = ops.cast(normal(BATCH, LENGTH, WIDTH), "bfloat16")
    teacher = normal(BATCH, LENGTH, WIDTH)
    for loss in (soft_target_loss, cosine_loss):
        assert ops.dtype(loss(student, teacher)) == "float32"
