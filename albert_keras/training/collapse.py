"""Guard that stops fine-tuning when the model gives one answer to everything."""

import math
import statistics

from albert_keras.training.guards import LogGuard

# A loss within this share of the loss of a constant answer counts as stuck there.
_MARGIN = 0.01

# Predictions of a regression are all alike if they spread by less than this many of the
# targets' standard deviations.
_LEAST_SPREAD = 1e-3


class TrainingCollapsedError(RuntimeError):
    """Fine-tuning collapsed: the model gives one answer. Has `reason` and `step`."""

    def __init__(self, reason, step):
        super().__init__(reason)
        self.reason = reason
        self.step = step


class CollapseGuard(LogGuard):
    """Stops fine-tuning with constant predictions or the loss of a constant answer.

    It reads the entries of the log after the warm-up: `val_num_predicted_labels` (1 where
    held-out rows have several labels) or `val_spread` of a regression, at
    `num_evaluations` evaluations in a row, while the training loss was stuck too; and the
    training loss alone, over `num_steps` steps. A loss is stuck if its mean is within one
    per cent of that of the best constant answer, or above. So a model that is still
    improving, but answers by the most frequent label, is not stopped.

    Args:
        prior_loss: float. Loss of the best constant answer to the training rows; for a
            regression the variance of their targets.
        warmup_steps, num_steps, num_evaluations: int. Steps before which nothing is
            checked, and steps or evaluations that are judged together.

    Reference: keras-team/keras-hub issue 831, ALBERT stuck at 50 % on IMDB.
    """

    kept = ("num_constant", "window", "recent")

    def __init__(self, prior_loss, warmup_steps, num_steps, num_evaluations=2):
        self.prior_loss = prior_loss
        self.warmup_steps = warmup_steps
        self.num_steps = num_steps
        self.num_evaluations = num_evaluations
        self.num_constant = 0
        # Steps and losses since the last judgement, and losses since the evaluation.
        self.window, self.recent = [], []

    def write(self, entry, model):
        """Checks an entry of the log; raises a `TrainingCollapsedError` if need be."""
        # Where one answer is always right there is nothing to check.
        if entry["step"] > self.warmup_steps and self.prior_loss > 0:
            self._judge_loss(entry)
            self._judge_predictions(entry)

    def judge_result(self, entry, scores):
        """Checks the scores of the checkpoint to keep, whatever the loss of the run.

        Args:
            entry: Dict of its `step` and `learning_rate`.
            scores: Dict of scores on held-out rows.

        Raises:
            TrainingCollapsedError: If all rows got one label, which is not right for all.
        """
        is_constant = scores.get("num_predicted_labels") == 1
        if entry["step"] <= self.warmup_steps or not is_constant:
            return
        if scores.get("majority_accuracy") != 1.0 and self.prior_loss > 0:
            self._stop(entry, "all held-out rows got one label")

    def _judge_loss(self, entry):
        if not math.isfinite(entry.get("loss", math.nan)):
            return
        self.recent.append(entry["loss"])
        self.window.append([entry["step"], entry["loss"]])
        num_steps = entry["step"] - self.window[0][0]
        if num_steps < self.num_steps:
            return
        # The first entry is the mean of the steps before it: it does not count.
        losses = [loss for _, loss in self.window[1:]]
        self.window = self.window[-1:]
        if self._are_stuck(losses):
            mean = statistics.fmean(losses)
            self._stop(
                entry,
                f"the loss was {mean:.3f} on average over {num_steps} steps, that of a "
                f"constant answer is {self.prior_loss:.3f}",
            )

    def _judge_predictions(self, entry):
        if not any(name.startswith("val_") for name in entry):
            return
        is_right = entry.get("val_majority_accuracy") == 1.0
        is_constant = entry.get("val_num_predicted_labels") == 1 and not is_right
        least = _LEAST_SPREAD * math.sqrt(self.prior_loss)
        is_flat = entry.get("val_spread", math.inf) < least
        is_stuck = not self.recent or self._are_stuck(self.recent)
        self.recent = []
        is_lost = is_stuck and (is_constant or is_flat)
        self.num_constant = self.num_constant + 1 if is_lost else 0
        if self.num_constant >= self.num_evaluations:
            self._stop(
                entry,
                f"all held-out rows got one answer at {self.num_constant} evaluations",
            )

    def _are_stuck(self, losses):
        return statistics.fmean(losses) >= self.prior_loss * (1 - _MARGIN)

    def _stop(self, entry, what):
        raise TrainingCollapsedError(
            "Fine-tuning must learn more than a constant answer. Received: by step "
            f"{entry['step']} {what}, learning rate {entry['learning_rate']:.3g}. Train "
            "in another run folder with --learning-rate sweep, or with more rows or "
            "steps; or continue it with --restarts 2, each at half the rate, or with "
            "--no-collapse-guard.",
            entry["step"],
        )
