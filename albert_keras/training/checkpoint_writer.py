"""When checkpoints are written: after evaluations, in between, and when told to stop."""

import math

from albert_keras.checks import check_choice
from albert_keras.training.checkpoints import Best
from albert_keras.training.steps import StepCounter


class CheckpointWriter(StepCounter):
    """Writes the whole state after each evaluation, and more often if asked.

    A signal to stop is obeyed here: the state is written, then the program ends. One that
    comes in an evaluation waits for its end, which belongs to the step before.

    Args:
        initial_step: int. Steps finished before the first `fit`.
        checkpoints: `CheckpointFolder`.
        stateful: Dict from a name to a callback or writer whose `state()` is kept.
        signals: `StopSignals`.
        tell: Function of one line of text.
        interval: int > 0, or `None`. Steps between checkpoints inside of an epoch.
        best_metric: str. The metric to compare; losses are better when less, others when
            greater. Default `"val_loss"`.
        best: `Best` of the run that is resumed, or `None`.
        patience: int > 0, or `None`. Evaluations in a row without a new best after which
            training is told to end.
        num_worse: int. Such evaluations so far, of the run that is resumed.
        keeps_means: bool. Whether checkpoints inside of an epoch hold its running means,
            so that the log goes on as if the run had not ended. Without them its next
            entry is of the steps since then.

    Raises:
        ValueError: At an evaluation that has no `best_metric`; it lists those it has.
        KeyboardInterrupt: After SIGINT.
        SystemExit: After SIGTERM.
    """

    def __init__(
        self,
        initial_step,
        checkpoints,
        stateful,
        signals,
        tell,
        interval=None,
        best_metric="val_loss",
        best=None,
        patience=None,
        num_worse=0,
        keeps_means=True,
    ):
        super().__init__(initial_step)
        self.checkpoints = checkpoints
        self.stateful = stateful
        self.signals = signals
        self.tell = tell
        self.interval = interval
        self.best_metric = best_metric
        self.best = best
        self.patience = patience
        self.num_worse = num_worse
        self.keeps_means = keeps_means

    def on_train_batch_end(self, batch, logs=None):
        # The end of an epoch is the evaluation's, after which all is written.
        self.is_epoch_end = batch + 1 >= self.params["steps"]
        super().on_train_batch_end(batch, logs)

    def on_steps_end(self, logs):
        if self.is_epoch_end:
            return
        is_due = self.interval is not None and self.has_passed(self.interval)
        if is_due or self.signals.received:
            self._save(with_metrics=self.keeps_means)
        self._stop_if_told()

    def on_epoch_end(self, epoch, logs=None):
        measured = [name for name in logs or {} if name.startswith("val_")]
        if measured:
            check_choice("best_metric", self.best_metric, measured)
            self._compare(float(logs[self.best_metric]))
        self._save()
        self._stop_if_told()
        if self.patience and self.num_worse >= self.patience:
            self._stop_early()

    def _compare(self, value):
        sign = -1 if self.best_metric.endswith("loss") else 1
        best = -math.inf if self.best is None else sign * self.best.value
        # A value that is not a number is never the best: nothing would be better.
        if sign * value > best:
            self.best, self.num_worse = Best(self.step, value), 0
        else:
            self.num_worse += 1

    def _save(self, with_metrics=False):
        state = {name: part.state() for name, part in self.stateful.items()}
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
            f"No better {self.best_metric}{best or ''} in {self.num_worse} "
            f"evaluations: stopped early at step {self.step}."
        )
        self.model.stop_training = True

    def _stop_if_told(self):
        if self.signals.received:
            self.tell(
                f"Stopped by {self.signals.received.name} at step {self.step}. "
                "The same command goes on from there."
            )
            self.signals.stop()
