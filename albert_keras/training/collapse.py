"""Guard that stops fine-tuning when the model gives the same answer to all rows."""

import math
import statistics

from albert_keras.training.guards import LogGuard

# A loss is stuck if it is less than this share below the loss of a constant answer.
_MARGIN = 0.005

# Predictions of a regression are constant if their spread is less than this number of
# standard deviations of the targets.
_LEAST_SPREAD = 1e-3


class TrainingCollapsedError(RuntimeError):
    """Fine-tuning collapsed: the model gives one answer. Has `reason` and `step`."""

    def __init__(self, reason, step):
        super().__init__(reason)
        self.reason = reason
        self.step = step


class CollapseGuard(LogGuard):
    """Stops fine-tuning when predictions, or the training loss, are those of a constant.

    It checks the entries of the log after the warm-up, and stops in two cases:

    - At `num_evaluations` evaluations in a row, all held-out rows got one label
      (`val_num_predicted_labels` is 1), or the predictions of a regression do not vary
      (`val_spread`), while the training loss was stuck.
    - The training loss was stuck in the later half of `num_steps` steps.

    A loss is stuck if its mean is at least 99.5 % of the loss of the best constant
    answer. Small models reach that on CoLA only after half of the steps.
    So a model that predicts only the most frequent label, but still improves, is not
    stopped.

    Args:
        prior_loss: float. Loss of the best constant answer on the training rows; for a
            regression, the variance of their targets.
        warmup_steps: int. Number of first steps that are not checked.
        num_steps, num_evaluations: int. See above.

    Reference: keras-team/keras-hub issue 831, ALBERT stuck at 50 % on IMDB.
    """

    kept = ("num_constant", "window", "recent")

    def __init__(self, prior_loss, warmup_steps, num_steps, num_evaluations=2):
        self.prior_loss = prior_loss
        self.warmup_steps = warmup_steps
        self.num_steps = num_steps
        self.num_evaluations = num_evaluations
        self.num_constant = 0
        # Steps and losses since the last check of the loss; losses since the evaluation.
        self.window, self.recent = [], []

    def write(self, entry, model):
        """Checks an entry of the log; may raise a `TrainingCollapsedError`."""
        if self._is_checked(entry):
            self._judge_loss(entry)
            self._judge_predictions(entry)

    def judge_result(self, entry, scores):
        """Checks the scores of the checkpoint to keep, whatever the training loss was.

        Args:
            entry: Dict of its `step` and `learning_rate`.
            scores: Dict of scores on held-out rows.

        Raises:
            TrainingCollapsedError: If all rows got one label that is wrong for some.
        """
        if self._is_checked(entry) and _is_constant(scores):
            self._stop(entry, "all held-out rows got one label")

    def _is_checked(self, entry):
        # With a prior loss of 0, a constant answer is always right.
        return entry["step"] > self.warmup_steps and self.prior_loss > 0

    def _judge_loss(self, entry):
        if not math.isfinite(entry.get("loss", math.nan)):
            return
        self.recent.append(entry["loss"])
        self.window.append([entry["step"], entry["loss"]])
        num_steps = entry["step"] - self.window[0][0]
        if num_steps < self.num_steps:
            return
        # The first entry is a mean over earlier steps, so it does not count.
        losses = [loss for _, loss in self.window[1:]]
        # A model may begin to learn in the window.
        later_losses = losses[len(losses) // 2 :]
        self.window = self.window[-1:]
        if self._are_stuck(later_losses):
            mean = statistics.fmean(later_losses)
            self._stop(
                entry,
                f"the loss was {mean:.3f} on average in the later half of {num_steps} "
                f"steps, that of a constant answer is {self.prior_loss:.3f}",
            )

    def _judge_predictions(self, entry):
        scores = {k[4:]: v for k, v in entry.items() if k.startswith("val_")}
        if not scores:
            return
        least = _LEAST_SPREAD * math.sqrt(self.prior_loss)
        is_flat = scores.get("spread", math.inf) < least
        is_stuck = not self.recent or self._are_stuck(self.recent)
        self.recent = []
        is_lost = is_stuck and (_is_constant(scores) or is_flat)
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


def _is_constant(scores):
    """Returns whether all rows got one label, which is wrong for some of them."""
    is_right = scores.get("majority_accuracy") == 1.0
    return scores.get("num_predicted_labels") == 1 and not is_right
