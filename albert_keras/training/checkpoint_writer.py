"""Callback that writes checkpoints: after evaluations, at intervals, on signals."""

import math

from albert_keras.checks import check_choice
from albert_keras.training.checkpoints import Best, best_of
from albert_keras.training.steps import StepCounter


class CheckpointWriter(StepCounter):
    """Writes the whole state after each evaluation, and at `steps_per_checkpoint`.

    On a signal to stop, it writes the state and ends the program. A signal during an
    evaluation takes effect after it, because the evaluation belongs to the last step.

    Args:
        resumed: `Checkpoint` from which the training is resumed.
        checkpoints: `CheckpointFolder`.
        parts: Dict of callbacks and guards by name. Their state is restored here, and
            their `state()` is saved in checkpoints.
        signals: `StopSignals`.
        tell: Function of one line of text.
        config: `TrainerConfig`.
    """

    def __init__(self, resumed, checkpoints, parts, signals, tell, config):
        super().__init__(resumed.step)
        self.checkpoints = checkpoints
        self.parts = parts
        self.signals = signals
        self.tell = tell
        self.config = config
        self.best = best_of(resumed.state)
        self.num_worse = resumed.state.get("num_worse", 0)
        if self.best and not checkpoints.file(self.best.step).exists():
            # It was deleted for a better one, which is damaged.
            self.best = None
        for name, part in parts.items():
            part.restore(resumed.state.get(name, {}))

    def on_steps_end(self, logs):
        if self.is_epoch_end:
            # The state is written after the evaluation.
            return
        interval = self.config.steps_per_checkpoint
        is_due = interval is not None and self.has_passed(interval)
        if is_due or self.signals.received:
            self._save()
        self._stop_if_told()

    def on_evaluation(self, measured):
        if measured:
            metric = self.config.best_metric
            check_choice("best_metric", metric, measured)
            self._compare(metric, measured)
        self._save()
        self._stop_if_told()
        if self.config.patience and self.num_worse >= self.config.patience:
            self._stop_early()

    def _compare(self, metric, measured):
        sign = -1 if metric.endswith("loss") else 1
        # `None` if the evaluation has no loss.
        loss = measured.get("val_loss")
        new = Best(self.step, float(measured[metric]), loss and float(loss))
        best = -math.inf if self.best is None else sign * self.best.value
        # A NaN is never the best, since no value would be better.
        if sign * new.value > best:
            self.best, self.num_worse = new, 0
            return
        self.num_worse += 1
        # If values are equal, the one with the lower loss is kept. This does not reset
        # `patience`: losses often decrease long after the accuracy is constant.
        is_equal = self.best and new.value == self.best.value
        if is_equal and None not in (new.loss, self.best.loss):
            self.best = min(self.best, new, key=lambda best: best.loss)

    def _save(self):
        state = {name: part.state() for name, part in self.parts.items()}
        state["num_worse"] = self.num_worse
        if self.best:
            state["best"] = self.best._asdict()
        self.checkpoints.save(self.model, self.step, state, best=self.best)

    def _stop_early(self):
        best = self.best and f" than {self.best.value:.4g} of step {self.best.step}"
        self.tell(
            f"No better {self.config.best_metric}{best or ''} in {self.num_worse} "
            f"evaluations: stopped early at step {self.step}."
        )
        self.model.stop_training = True

    def _stop_if_told(self):
        if self.signals.received:
            self.tell(
                f"Stopped by {self.signals.received.name} at step {self.step}. "
                "The same command resumes the run."
            )
            self.signals.stop()
