"""Checkpoints after evaluations, in between, and on a signal to stop."""

import math

from albert_keras.checks import check_choice
from albert_keras.training.checkpoints import Best
from albert_keras.training.steps import StepCounter


class CheckpointWriter(StepCounter):
    """Writes the whole state after each evaluation, and more often if asked.

    A signal to stop is obeyed here: the state is written, then the program ends. A signal
    during an evaluation waits for its end, which belongs to the step before.

    Args:
        initial_step: int. Steps finished before the first `fit`.
        checkpoints: `CheckpointFolder`.
        parts: Dict from a name to a callback or writer whose `state()` is kept.
        signals: `StopSignals`.
        tell: Function of one line of text.
        config: `TrainerConfig`: steps between checkpoints, metric and patience.
        keeps_means: bool. Whether checkpoints inside an epoch hold its running means, so
            that the log continues as if the run had not ended. Without them its next
            entry covers only the steps since then.

    Raises:
        ValueError: At an evaluation without `best_metric`; it lists the others.
        KeyboardInterrupt: After SIGINT.
        SystemExit: After SIGTERM.
    """

    def __init__(
        self, initial_step, checkpoints, parts, signals, tell, config, keeps_means=True
    ):
        super().__init__(initial_step)
        self.checkpoints = checkpoints
        self.parts = parts
        self.signals = signals
        self.tell = tell
        self.config = config
        self.keeps_means = keeps_means
        self.best = None
        self.num_worse = 0

    def restore(self, state):
        """Takes over the state of a checkpoint."""
        self.best = best_of(state)
        self.num_worse = state.get("num_worse", 0)
        if self.best and not self.checkpoints.file(self.best.step).exists():
            # It was deleted for a better one, which was damaged.
            self.best = None
        self.checkpoints.mark_best(self.best)

    def on_train_batch_end(self, batch, logs=None):
        # At the end of an epoch the state is written after the evaluation.
        self.is_epoch_end = batch + 1 >= self.params["steps"]
        super().on_train_batch_end(batch, logs)

    def on_steps_end(self, logs):
        if self.is_epoch_end:
            return
        interval = self.config.steps_per_checkpoint
        is_due = interval is not None and self.has_passed(interval)
        if is_due or self.signals.received:
            self._save(with_metrics=self.keeps_means)
        self._stop_if_told()

    def on_epoch_end(self, epoch, logs=None):
        measured = [name for name in logs or {} if name.startswith("val_")]
        if measured:
            metric = self.config.best_metric
            check_choice("best_metric", metric, measured)
            self._compare(metric, float(logs[metric]))
        self._save()
        self._stop_if_told()
        if self.config.patience and self.num_worse >= self.config.patience:
            self._stop_early()

    def _compare(self, metric, value):
        sign = -1 if metric.endswith("loss") else 1
        best = -math.inf if self.best is None else sign * self.best.value
        # NaN is never the best: nothing would be better.
        if sign * value > best:
            self.best, self.num_worse = Best(self.step, value), 0
        else:
            self.num_worse += 1

    def _save(self, with_metrics=False):
        state = {name: part.state() for name, part in self.parts.items()}
        if self.best:
            state["best"] = self.best._asdict()
        if self.num_worse:
            state["num_worse"] = self.num_worse
        self.checkpoints.save(
            self.model, self.step, state, best=self.best, with_metrics=with_metrics
        )

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


def best_of(state):
    """Returns the `Best` in the state of a checkpoint, or None."""
    return Best(**state["best"]) if "best" in state else None
