"""Counting of training steps, over epochs and resumed runs, and of tokens per step."""

import math

import keras


class StepCounter(keras.callbacks.Callback):
    """Base class of callbacks that need the number of finished steps of the run.

    `initial_step` is the number of steps finished before the first `fit`.
    """

    def __init__(self, initial_step):
        super().__init__()
        self.step = initial_step

    def on_epoch_begin(self, epoch, logs=None):
        self.steps_before_epoch = self.step

    def on_train_batch_end(self, batch, logs=None):
        self.previous_step = self.step
        self.step = self.steps_before_epoch + batch + 1
        self.on_steps_end(logs or {})

    def on_epoch_end(self, epoch, logs=None):
        self.on_evaluation({k: v for k, v in logs.items() if k.startswith("val_")})

    def on_steps_end(self, logs):
        """Called after each step, or after `steps_per_execution` of them."""

    def on_evaluation(self, measured):
        """Called at the end of an epoch, with the held-out scores, if any."""

    def has_passed(self, interval):
        """Returns whether the last steps reached or passed a multiple of `interval`."""
        return self.step // interval > self.previous_step // interval


def spans_of_training(step, num_steps, interval, phase_starts=()):
    """Returns the rest of an interval, whole intervals, and the begin of the last one.

    The intervals begin anew with each phase. Each span is a tuple `(first step, steps per
    part, number of parts)`.

    Example:

    >>> spans_of_training(5, 23, 6)
    [(5, 1, 1), (6, 6, 2), (18, 5, 1)]
    >>> spans_of_training(5, 23, 6, phase_starts=(10,))
    [(5, 1, 1), (6, 4, 1), (10, 6, 2), (22, 1, 1)]
    """
    spans = []
    while step < num_steps:
        start, end = phase_around(step, num_steps, phase_starts)
        done = (step - start) % interval
        size = min(interval - done, end - step)
        parts = 1 if done else max(1, (end - step) // interval)
        spans.append((step, size, parts))
        step += size * parts
    return spans


def phase_around(step, num_steps, phase_starts):
    """Returns the first step of the phase that a step is in, and that of the next one."""
    start = max((first for first in phase_starts if first <= step), default=0)
    end = min((first for first in phase_starts if first > step), default=num_steps)
    return start, min(end, num_steps)


def tokens_per_step(dataset, num_workers=1):
    """Returns the number of positions in `token_ids` of a batch, or None if not fixed.

    Each of `num_workers` workers has as many rows of a batch.
    """
    spec = getattr(dataset, "element_spec", None)
    features = spec[0] if isinstance(spec, tuple) else None
    if not isinstance(features, dict) or "token_ids" not in features:
        return None
    shape = tuple(features["token_ids"].shape)
    return None if None in shape else math.prod(shape) * num_workers
