"""Counts of training steps over epochs and resumed runs, and of tokens per step."""

import math

import keras


class StepCounter(keras.callbacks.Callback):
    """Base class of callbacks that need the number of finished steps of the training.

    `initial_step` is the number of steps that were finished before `fit`.
    """

    def __init__(self, initial_step):
        super().__init__()
        self.step = initial_step

    def on_epoch_begin(self, epoch, logs=None):
        self.steps_before_epoch = self.step

    def on_train_batch_end(self, batch, logs=None):
        # At the end of an epoch, an evaluation follows.
        self.is_epoch_end = batch + 1 >= self.params["steps"]
        self.previous_step = self.step
        self.step = self.steps_before_epoch + batch + 1
        self.on_steps_end(logs or {})

    def on_epoch_end(self, epoch, logs=None):
        self.on_evaluation({k: v for k, v in logs.items() if k.startswith("val_")})

    def on_steps_end(self, logs):
        """Called after each step, or after `steps_per_execution` of them."""

    def on_evaluation(self, measured):
        """Called at the end of an epoch with the held-out scores, maybe none."""

    def has_passed(self, interval):
        """Returns whether the last steps reached a multiple of `interval`."""
        return self.step // interval > self.previous_step // interval


def spans_of_training(step, num_steps, interval, phase_starts=()):
    """Divides a training into calls of `fit`, whose epochs end where evaluations are due.

    They are the rest of an interval, then whole intervals, then a shorter last one.
    Intervals are counted from the start of each phase.

    Returns:
        List of tuples `(first step, steps per epoch, number of epochs)`.
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
    """Returns the first step of the phase of a step, and the first one after it."""
    start = max((first for first in phase_starts if first <= step), default=0)
    end = min((first for first in phase_starts if first > step), default=num_steps)
    return start, min(end, num_steps)


def tokens_per_step(dataset, num_workers=1):
    """Returns the number of positions in a batch's `token_ids`, or `None` if it varies.

    Each of `num_workers` workers has an equal share of a batch.
    """
    spec = getattr(dataset, "element_spec", None)
    features = spec[0] if isinstance(spec, tuple) else None
    if not isinstance(features, dict) or "token_ids" not in features:
        return None
    shape = tuple(features["token_ids"].shape)
    return None if None in shape else math.prod(shape) * num_workers
