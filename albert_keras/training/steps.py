"""Counting steps: over resumed runs, over epochs, and several steps a call."""

import keras


class StepCounter(keras.callbacks.Callback):
    """Base of callbacks that need the number of finished steps, resumed ones included.

    Args:
        initial_step: int. Steps finished before the first `fit`.
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
        """Called when steps are finished: one, or `steps_per_execution` at once."""

    def has_passed(self, interval):
        """Tells whether the last steps reached or passed a multiple of `interval`."""
        return self.step // interval > self.previous_step // interval


def sync_variables(model):
    """Gives the variables of a model in training their values.

    On JAX these are in the hands of `fit` until they are asked for.
    """
    if keras.config.backend() == "jax":
        model.jax_state_sync()


def spans_of_training(step, num_steps, interval):
    """Cuts the steps that are left where intervals end, also if begun inside of one.

    Args:
        step: int. Finished steps.
        num_steps: int. Steps of the whole run.
        interval: int. Steps of an interval.

    Returns:
        List of `(first step, steps per part, number of parts)`, at most three: what is
        left of an interval, whole intervals, and what does not fill one.

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
