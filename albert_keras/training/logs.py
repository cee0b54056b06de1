"""Log of a training: means over intervals of steps, passed to writers."""

import json
import pathlib
import time

import keras
from keras import ops

from albert_keras.checks import is_number
from albert_keras.keras_internals import sync_variables
from albert_keras.system.files import atomic_path
from albert_keras.training.steps import StepCounter


class RunLog(StepCounter):
    """Makes an entry every `every_steps` steps and after each evaluation.

    Every entry has `step`; `seconds` of training, including those before a resume; and
    `learning_rate`. Entries after steps have `tokens_per_second` (including padding,
    because counting tokens takes time), `gradient_norm` of the last step, and means of
    losses and metrics since the previous entry or evaluation. (The last steps before an
    evaluation may be in no entry.) Entries after evaluations have `val_*`.

    Each of the `writers` has a method `write(entry, model)`.

    Attributes:
        running_means: Values of the metrics' variables inside an epoch at which the
            training is resumed, `(variables, replicas, ...)`.
    """

    def __init__(self, initial_step, every_steps, writers, tokens_per_step=None):
        super().__init__(initial_step)
        self.every_steps = every_steps
        self.writers = writers
        self.tokens_per_step = tokens_per_step
        self.running_means = []
        self.began = time.monotonic()
        self.seconds_before = 0.0

    def restore(self, state):
        """Sets the `state` of the training that is resumed."""
        self.seconds_before = state.get("seconds", 0.0)
        self.running_means = state.get("running_means", [])

    def on_epoch_begin(self, epoch, logs=None):
        super().on_epoch_begin(epoch)
        # Evaluations and checkpoints, between epochs, do not count as training time.
        self.last_entry, self.last_step = time.monotonic(), self.step
        variables = metric_variables(self.model)
        # With another number of replicas, the next entry has the mean of fewer steps.
        if list(map(len, variables)) == list(map(len, self.running_means)):
            for replicas, values in zip(variables, self.running_means, strict=True):
                for variable, value in zip(replicas, values, strict=True):
                    variable.assign(value)
        self.running_means = []

    def on_steps_end(self, logs):
        if self.has_passed(self.every_steps):
            self._write({**self._speed(), **logs})
            # The logs contain means since the last reset or the start of the epoch.
            self.model.reset_metrics()

    def on_evaluation(self, measured):
        if measured:
            self._write(measured)

    def state(self):
        """Returns the state for checkpoints, a dict for JSON."""
        if self.is_epoch_end:
            return {"seconds": self._seconds()}
        sync_variables(self.model)
        means = [
            [ops.convert_to_numpy(variable).tolist() for variable in replicas]
            for replicas in metric_variables(self.model)
        ]
        return {"seconds": self._seconds(), "running_means": means}

    def _seconds(self):
        return round(self.seconds_before + time.monotonic() - self.began, 3)

    def _speed(self):
        now, steps = time.monotonic(), self.step - self.last_step
        seconds, self.last_entry, self.last_step = now - self.last_entry, now, self.step
        if self.tokens_per_step is None:
            return {}
        return {"tokens_per_second": round(steps * self.tokens_per_step / seconds, 1)}

    def _write(self, logs):
        sync_variables(self.model)
        entry = {
            "step": self.step,
            "seconds": self._seconds(),
            "learning_rate": float(self.model.optimizer.learning_rate),
            **{name: float(value) for name, value in logs.items()},
        }
        for writer in self.writers:
            writer.write(entry, self.model)


def metric_variables(model):
    """Returns the variables of a model's running means, each as a list by replica."""
    variables = model.metrics_variables
    if keras.config.backend() != "tensorflow":
        return [[variable] for variable in variables]
    # Reading the sums of all replicas as one variable would add them.
    local_results = model.distribute_strategy.experimental_local_results
    return [local_results(variable.value) for variable in variables]


class JsonLines:
    """Appends entries to a file, one line of JSON each.

    Lines after `last_step`, where the training is resumed, are removed, because these
    steps are repeated.
    """

    def __init__(self, path, last_step=0):
        self.path = pathlib.Path(path)
        if not self.path.exists():
            return
        lines = self.path.read_text("utf-8").splitlines(keepends=True)
        kept = [line for line in lines if _is_kept(line, last_step)]
        if kept != lines:
            with atomic_path(self.path) as temporary:
                temporary.write_text("".join(kept), "utf-8")

    def write(self, entry, model):
        """Appends an entry."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def read_entry(line):
    """Returns the dict of numbers in a line of a log, or `None` if the line has none.

    A killed process or a full disk may leave an incomplete line.
    """
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or not is_number(entry.get("step")):
        return None
    return {name: value for name, value in entry.items() if is_number(value)}


def _is_kept(line, last_step):
    entry = read_entry(line)
    return line.endswith("\n") and entry is not None and entry["step"] <= last_step
