"""Losses of a student on its teacher's outputs.

Each function returns the loss of every row, token or position, in at least float32,
without a gradient for the teacher. The loss of a batch is the mean over masked words or
attended tokens.
"""

import keras
from keras import ops

# As in DistilBERT's `train.py`.
TEMPERATURE = 2.0
# As in `torch.nn.CosineEmbeddingLoss`.
_COSINE_EPSILON = 1e-12


def soft_target_loss(student_logits, teacher_logits, temperature=TEMPERATURE):
    """Returns the divergence of the student's distribution from the teacher's.

    It is `temperature**2 * KL(softmax(teacher / temperature) || softmax(student /
    temperature))`. The factor makes the gradient independent of the temperature.

    Args:
        student_logits, teacher_logits: `(..., num_classes)`.
        temperature: float > 0. Default 2, as in DistilBERT.

    Returns:
        `(...)`.

    Example:

    >>> round(float(soft_target_loss([0.0, 0.0], [0.0, 4.0])), 3)
    1.311

    Reference: Hinton et al. 2015, section 2; Sanh et al. 2019, DistilBERT, section 2.
    """
    student, teacher = _pair(student_logits, teacher_logits)
    expected = ops.log_softmax(teacher / temperature, axis=-1)
    received = ops.log_softmax(student / temperature, axis=-1)
    divergences = ops.sum(ops.exp(expected) * (expected - received), axis=-1)
    return temperature**2 * divergences


def cosine_loss(student_states, teacher_states):
    """Returns 1 minus the cosine of the angle between hidden states.

    Args:
        student_states, teacher_states: `(..., hidden_dim)`.

    Returns:
        `(...)`.

    Reference: Sanh et al. 2019, DistilBERT, section 3.
    """
    student, teacher = _pair(student_states, teacher_states)
    products = ops.sum(student * teacher, axis=-1)
    squares = [ops.sum(ops.square(x), axis=-1) for x in (student, teacher)]
    squares = (squares[0] + _COSINE_EPSILON) * (squares[1] + _COSINE_EPSILON)
    return 1.0 - products * ops.rsqrt(squares)


def matched_depths(num_layers, num_teacher_layers):
    """Returns the teacher's depth for each depth of the student, a list from 1.

    Example:

    >>> matched_depths(3, 12), matched_depths(5, 12)
    ([4, 8, 12], [2, 5, 7, 10, 12])
    """
    # Rounded half up.
    return [
        (2 * depth * num_teacher_layers + num_layers) // (2 * num_layers)
        for depth in range(1, num_layers + 1)
    ]


def hidden_state_loss(student_states, teacher_states):
    """Returns the mean of `cosine_loss` over the student's depths.

    Args:
        student_states, teacher_states: Lists of `(batch, sequence_length, hidden_dim)`,
            the embedding first, as `AlbertBackbone.with_outputs` returns them.

    Returns:
        `(batch, sequence_length)`.
    """
    depths = matched_depths(len(student_states) - 1, len(teacher_states) - 1)
    losses = [
        cosine_loss(state, teacher_states[depth])
        for state, depth in zip(student_states[1:], depths, strict=True)
    ]
    return sum(losses) / len(losses)


def _pair(student, teacher):
    """Returns tensors in at least float32, the teacher's without a gradient."""
    student, teacher = map(ops.convert_to_tensor, (student, teacher))
    dtype = keras.backend.result_type(student.dtype, "float32")
    return ops.cast(student, dtype), ops.stop_gradient(ops.cast(teacher, dtype))
