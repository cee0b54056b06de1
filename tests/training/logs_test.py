"""The log of a run, and its bar."""

import io
import json

import pytest
import rich.console
import rich.progress
import tensorflow as tf

from albert_keras.system.progress import open_progress
from albert_keras.training.logs import JsonLines, RunLog, read_entry
from albert_keras.training.progress import RichProgress
from tests.training import small_run

LOSSES = (8.0, 6.0, 4.0, 2.0, 5.0, 11.0, 7.0)


class FakeOptimizer:
    learning_rate = 0.5


class FakeModel:
    """Keeps the mean of the loss since its metrics were reset, as Keras does."""

    def __init__(self):
        self.optimizer = FakeOptimizer()
        self.metrics_variables = []
        self.distribute_strategy = tf.distribute.get_strategy()
        self.losses = []

    def reset_metrics(self):
        self.losses = []

    def mean_with(self, loss):
        self.losses.append(loss)
        return sum(self.losses) / len(self.losses)


class Entries:
    def __init__(self):
        self.entries = []

    def write(self, entry, model):
        self.entries.append(entry)


def feed(log, first, last):
    """Passes the steps of one epoch to a log."""
    for step in range(first, last):
        mean = log.model.mean_with(LOSSES[step])
        logs = {"loss": mean, "gradient_norm": float(step)}
        log.on_train_batch_end(step - first, logs)


def make_log(initial_step, state=None, model=None, **options):
    written = Entries()
    log = RunLog(initial_step, 2, [written], **options)
    log.restore(state or {})
    log.set_model(model or FakeModel())
    log.set_params({"steps": 4})
    log.on_epoch_begin(0)
    return log, written.entries


def test_entries_are_means_of_their_own_steps():
    log, entries = make_log(4, tokens_per_step=78)
    feed(log, 0, 4)
    log.on_epoch_end(0, {"loss": 5.0, "val_loss": 1.0})
    log.on_epoch_begin(1)
    log.on_train_batch_end(0, {"loss": 1.5})
    log.on_train_batch_end(1, {"loss": 1.25})
    assert [entry["step"] for entry in entries] == [6, 8, 8, 10]
    assert [entry.get("loss") for entry in entries] == [7.0, 3.0, None, 1.25]
    assert [entry.get("gradient_norm") for entry in entries] == [1, 3, None, None]
    assert [entry.get("val_loss") for entry in entries] == [None, None, 1.0, None]
    assert entries[0]["learning_rate"] == 0.5
    assert ["tokens_per_second" in entry for entry in entries] == [1, 1, 0, 1]


def test_running_means_of_an_epoch_are_kept_for_as_many_replicas(tmp_path):
    _, model = small_run.make_trainer(tmp_path)
    model.build_running_means(small_run.make_dataset(0).element_spec)
    log, _ = make_log(4, model=model)
    for number, variable in enumerate(model.metrics_variables):
        variable.assign(number + 1 / 3)
    means = [float(variable) for variable in model.metrics_variables]
    log.on_train_batch_end(0, {})
    state = json.loads(json.dumps(log.state()))
    of_two = {"running_means": [values * 2 for values in state["running_means"]]}
    for given, expected in ((state, means), (of_two, [0.0] * len(means))):
        model.reset_metrics()
        make_log(4, given, model)
        assert [float(variable) for variable in model.metrics_variables] == expected
    # At the end of an epoch they are not part of the state.
    log.on_train_batch_end(3, {})
    assert log.state().keys() == {"seconds"}


@pytest.mark.parametrize(
    "line", ["null", "[]", '{"loss": 1}', '{"step": "3"}', '{"step": 3', "[" * 10**5]
)
def test_a_line_without_an_entry(line, tmp_path):
    assert read_entry(line) is None
    (tmp_path / "log.jsonl").write_text(f'{line}\n{{"step": 2}}\n')
    JsonLines(tmp_path / "log.jsonl", last_step=3)
    assert (tmp_path / "log.jsonl").read_text() == '{"step": 2}\n'
    # The values of an entry are numbers.
    assert read_entry('{"step": 3, "loss": NaN, "x": "y"}').keys() == {"step", "loss"}


# === The progress display of training ===


@pytest.mark.parametrize(
    ("tokens", "unit"), [(None, "steps/s"), (6 * 13, "tokens/s")], ids=str
)
@pytest.mark.parametrize("terminal", [True, False])
def test_loss_rate_time_left_and_evaluation(terminal, tokens, unit):
    text = io.StringIO()
    console = rich.console.Console(file=text, width=120, force_terminal=terminal)
    columns = open_progress().columns
    with rich.progress.Progress(*columns, console=console) as progress:
        callback = RichProgress(RunLog(3, 2, [], tokens), 11, progress)
        callback.set_params({"steps": 3})
        callback.on_epoch_begin(0)
        for batch, loss in enumerate([1.5, 1.25, 1.125]):
            callback.on_train_batch_end(batch, {"loss": loss})
        callback.on_epoch_end(0, {"loss": 1.125, "val_loss": 0.5})
    shown = text.getvalue()
    assert "step 6: loss 0.5000" in shown
    assert "loss 1.125" in shown
    assert unit in shown
    # A log file or notebook shows no moving bar: it gets lines.
    assert ("step 4/11: loss 1.500, " in shown) == (not terminal)
    assert ("step 6/11: loss 1.125, " in shown) == (not terminal)
