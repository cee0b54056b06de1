"""Counting of training steps over epochs, resumed runs and several steps a call."""

import keras


class StepCounter(keras.callbacks.Callback):
    """Base class of callbacks that need the number of finished steps of the run.

    Args:
        initial_step: int. Steps finished before the first `fit`, in a resumed run.
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

    def on_steps_end(self, logs):
        """Called after each step, or after `steps_per_execution` of them."""

    def has_passed(self, interval):
        """Returns whether the last steps reached or passed a multiple of `interval`."""
        return self.step // interval > self.previous_step // interval


def spans_of_training(step, num_steps, interval):
    """Divides the remaining steps at the ends of intervals.

    Args:
        step: int. Finished steps, which may end inside an interval.
        num_steps: int. Steps of the whole run.
        interval: int. Steps of an interval.

    Returns:
        List of at most three tuples `(first step, steps per part, number of parts)`: the
        rest of an interval, whole intervals, and the begin of one.

    Example:

    >>> spans_of_training(5, 23, 6)
    [(5, 1, 1), (6, 6, 2), (18, 5, 1)]
    """
    spans = []
    while step < num_steps:
        end = min(num_steps, step - step % interval + interval)
        parts = max(1, (num_steps - step) // interval) if step % interval == 0 else 1
        spans.append((step, end - step, parts))
        step += (end - step) * parts
    return spans
