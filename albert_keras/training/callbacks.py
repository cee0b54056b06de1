"""What happens beside the steps: progress, logs, checkpoints, guards."""

import json
import math
import pathlib
import time

import keras
import rich.console
import rich.progress

from albert_keras.training.checkpoints import save_checkpoint_file


class StepCounter(keras.callbacks.Callback):
    """Base of callbacks that need the number of finished steps, resumed ones included.

    Args:
        initial_step: int. Steps finished before this `fit`.
    """

    def __init__(self, initial_step):
        super().__init__()
        self.step = initial_step

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        self.on_step_end(self.step, logs or {})

    def on_step_end(self, step, logs):
        """Called after each training step with the number of finished ones."""


class StopAtStep(StepCounter):
    """Ends `fit` once `num_steps` are finished."""

    def __init__(self, initial_step, num_steps):
        super().__init__(initial_step)
        self.num_steps = num_steps

    def on_step_end(self, step, logs):
        if step >= self.num_steps:
            self.model.stop_training = True


class StopOnNonFiniteLoss(StepCounter):
    """Ends training with an error when the loss is not a number.

    Raises:
        FloatingPointError: With the step and the learning rate.
    """

    def on_step_end(self, step, logs):
        loss = float(logs.get("loss", 0.0))
        if not math.isfinite(loss):
            rate = float(self.model.optimizer.learning_rate)
            raise FloatingPointError(
                "The loss must stay finite. "
                f"Received: loss={loss} at step {step}, learning rate {rate:.3g}. "
                "Resume from the last checkpoint with a lower learning rate."
            )


class CheckpointWriter(StepCounter):
    """Writes the whole state at the end of each epoch, that is, of each interval."""

    def __init__(self, initial_step, folder, keep):
        super().__init__(initial_step)
        self.folder = pathlib.Path(folder)
        self.keep = keep

    def on_epoch_end(self, epoch, logs=None):
        save_checkpoint_file(self.folder, self.model, self.step, self.keep)


class JsonLinesLogger(StepCounter):
    """Appends a line of JSON every `every_steps` steps and after each evaluation.

    Fields: `step`, `seconds` since this process began to train, `learning_rate`, and
    losses and metrics: means over the steps since the line before, or `val_*` after an
    evaluation.
    """

    def __init__(self, initial_step, path, every_steps):
        super().__init__(initial_step)
        self.path = pathlib.Path(path)
        self.every_steps = every_steps

    def on_train_begin(self, logs=None):
        self.began = time.monotonic()

    def on_epoch_begin(self, epoch, logs=None):
        self.num_steps, self.num_logged, self.logged_sums = 0, 0, {}

    def on_step_end(self, step, logs):
        self.num_steps += 1
        if step % self.every_steps == 0:
            self._append(self._means_since_last(logs))

    def on_epoch_end(self, epoch, logs=None):
        measured = {k: v for k, v in (logs or {}).items() if k.startswith("val_")}
        if measured:
            self._append(measured)

    def _means_since_last(self, logs):
        # Keras gives means since the epoch began: a curve of these would lag behind.
        sums = {name: float(value) * self.num_steps for name, value in logs.items()}
        steps = self.num_steps - self.num_logged
        means = {
            name: (value - self.logged_sums.get(name, 0.0)) / steps
            for name, value in sums.items()
        }
        self.num_logged, self.logged_sums = self.num_steps, sums
        return means

    def _append(self, logs):
        entry = {
            "step": self.step,
            "seconds": round(time.monotonic() - self.began, 3),
            "learning_rate": float(self.model.optimizer.learning_rate),
            **{name: float(value) for name, value in logs.items()},
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


class RichProgress(StepCounter):
    """A progress bar with loss, rate and time left, and a line after each evaluation.

    Args:
        initial_step: int. Steps finished before this `fit`.
        num_steps: int. Steps of the whole run.
        progress: Bar from `open_progress_bar`.
        every_steps: int. Off a terminal, where a bar cannot move, steps between lines.
    """

    def __init__(self, initial_step, num_steps, progress, every_steps=50):
        super().__init__(initial_step)
        self.first_step = initial_step
        self.num_steps = num_steps
        self.progress = progress
        self.every_steps = every_steps
        self.task = progress.add_task(
            "training", total=num_steps, completed=initial_step, rate=""
        )

    def on_train_begin(self, logs=None):
        self.began = time.monotonic()

    def on_step_end(self, step, logs):
        speed = (step - self.first_step) / (time.monotonic() - self.began)
        loss = f"loss {float(logs.get('loss', math.nan)):.3f}"
        rate = f"{speed:.2f} steps/s"
        self.progress.update(self.task, completed=step, description=loss, rate=rate)
        console = self.progress.console
        if not console.is_terminal and step % self.every_steps == 0:
            console.print(f"step {step}/{self.num_steps}: {loss}, {rate}")

    def on_epoch_end(self, epoch, logs=None):
        shown = {k: v for k, v in (logs or {}).items() if k.startswith("val_")}
        if shown:
            values = ", ".join(f"{k[4:]} {float(v):.4f}" for k, v in shown.items())
            self.progress.console.print(f"step {self.step}: {values}", highlight=False)


def open_progress_bar():
    """Returns a `rich` progress bar on standard error, to be used in a `with`."""
    return rich.progress.Progress(
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TextColumn("{task.fields[rate]}"),
        rich.progress.TimeRemainingColumn(),
        console=rich.console.Console(stderr=True),
    )
