"""Progress of a training on standard error: loss, tokens per second, time left."""

import functools
import math

import rich.progress

from albert_keras.system.progress import format_value
from albert_keras.training.steps import StepCounter


class RichProgress(StepCounter):
    """Shows a progress bar with loss, speed and time left, and a line for evaluations.

    Without a terminal, which could redraw a bar, it prints a line for each log entry.
    """

    def __init__(self, log, num_steps, progress):
        super().__init__(log.step)
        self.log = log
        self.num_steps = num_steps
        self.progress = progress
        self.task = progress.add_task(
            "training", total=num_steps, completed=self.step, rate=""
        )

    def on_steps_end(self, logs):
        loss = f"loss {float(logs.get('loss', math.nan)):.3f}"
        shown = f"step {self.step}/{self.num_steps}: {loss}"
        self.progress.update(self.task, completed=self.step, description=shown)
        (task,) = (task for task in self.progress.tasks if task.id == self.task)
        rate = self._rate(task.speed)
        self.progress.update(self.task, rate=rate)
        console = self.progress.console
        if not console.is_terminal and self.has_passed(self.log.every_steps):
            left = rich.progress.TimeRemainingColumn().render(task).plain
            line = ", ".join(filter(None, [shown, rate, f"{left} left"]))
            line_printer(console)(line)

    def on_evaluation(self, measured):
        if measured:
            values = ", ".join(
                f"{name.removeprefix('val_')} {format_value(value)}"
                for name, value in measured.items()
            )
            line_printer(self.progress.console)(f"step {self.step}: {values}")

    def _rate(self, speed):
        # Rich does not count the time to the first call, which compiles.
        if speed is None:
            return ""
        if self.log.tokens_per_step is None:
            return f"{speed:.2f} steps/s"
        return f"{speed * self.log.tokens_per_step:,.0f} tokens/s"


def line_printer(console):
    """Returns a function that prints a line of text verbatim on a `rich` console."""
    return functools.partial(
        console.print, markup=False, highlight=False, soft_wrap=True
    )
