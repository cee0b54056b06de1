"""Guards: stop training that cannot recover, and warn if it diverges."""

import math

import keras

from albert_keras.keras_internals import sync_variables
from albert_keras.training.steps import StepCounter


class StopWhenNotFinite(StepCounter):
    """Stops training with an error when a loss or the gradient is not finite.

    With loss scaling (mixed_float16), a step with a gradient that is not finite is
    skipped, and the scale is halved. This is an error only after `max_skipped_steps` in a
    row. The default is more than the 39 halvings from Keras' initial scale, 2^15, to the
    smallest float16 number, 2^-24.
    """

    def __init__(self, initial_step, checkpoints, max_skipped_steps=50):
        super().__init__(initial_step)
        self.checkpoints = checkpoints
        self.max_skipped_steps = max_skipped_steps
        self.first_skipped = None

    def on_steps_end(self, logs):
        loss = logs.get("loss", 0.0)
        norm = logs.get("gradient_norm", loss)
        if isinstance(self.model.optimizer, keras.optimizers.LossScaleOptimizer):
            # The loss of skipped steps stays in Keras' mean.
            is_lost = self._num_skipped(norm) > self.max_skipped_steps
        else:
            is_lost = not (math.isfinite(loss) and math.isfinite(norm))
        if is_lost:
            self._stop(f"loss={loss}, gradient norm {norm}")

    def on_evaluation(self, measured):
        held_out = measured.get("val_loss", 0.0)
        if not math.isfinite(held_out):
            self._stop(f"held-out loss={held_out}")

    def _num_skipped(self, norm):
        if math.isfinite(norm):
            self.first_skipped = None
            return 0
        if self.first_skipped is None:
            self.first_skipped = self.step
        return self.step - self.first_skipped + 1

    def _stop(self, received):
        sync_variables(self.model)
        rate = float(self.model.optimizer.learning_rate)
        last = max(self.checkpoints.files(), default="none")
        raise FloatingPointError(
            f"Loss and gradient must stay finite. Received: {received} at step "
            f"{self.step}, learning rate {rate:.3g}. Last good checkpoint: {last}. "
            "Train with a lower learning rate or a longer warm-up."
        )


class LogGuard:
    """Base class of guards, whose `write(entry, model)` gets each entry of the log.

    `kept` names the attributes that are saved in checkpoints.
    """

    kept = ()

    def state(self):
        """Returns the state for checkpoints, a dict for JSON."""
        return {name: getattr(self, name) for name in self.kept}

    def restore(self, state):
        """Sets the `state` of the training that is resumed."""
        vars(self).update(state)


class DivergenceWarning(LogGuard):
    """Warns once, when the loss has been above its first value for `patience` steps.

    Losses of the log are means over many steps, because single steps are noisy. The
    default patience is ten entries of the default log.
    """

    kept = ("start_loss", "first_step_above", "has_warned")

    def __init__(self, warn, patience=500):
        self.warn = warn
        self.patience = patience
        self.start_loss = self.first_step_above = None
        self.has_warned = False

    def write(self, entry, model):
        """Checks an entry of the log."""
        step, loss = entry["step"], entry.get("loss", math.nan)
        # Entries of evaluations have no loss; StopWhenNotFinite handles losses that are
        # not finite.
        if not math.isfinite(loss):
            return
        if self.start_loss is None:
            self.start_loss = loss
        if loss <= self.start_loss:
            self.first_step_above = None
            return
        if self.first_step_above is None:
            self.first_step_above = step
        if step - self.first_step_above >= self.patience and not self.has_warned:
            self.has_warned = True
            remedies = "a lower rate and a longer warm-up."
            if any(name.startswith("mlm") for name in entry):
                remedies += (
                    " LAMB's rate of 0.00176 is for batches of 4096: scale it by the "
                    "square root of batch / 4096. If the masked-token loss stays at 6.6 "
                    "to 7.3, the model has learned only token frequencies: the rate is "
                    "too high, or the vocabulary does not fit the text."
                )
            self.warn(
                f"The loss has been above its first value for {self.patience} steps: "
                f"{loss:.3f} at step {step}, first {self.start_loss:.3f}, learning rate "
                f"{entry['learning_rate']:.3g}. Remedies: {remedies}"
            )
