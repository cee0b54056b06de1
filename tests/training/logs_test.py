"""The log of a run, its bar, and what evaluations write."""

import io

import keras
import numpy as np
import pytest
import rich.console
import rich.progress
import tensorflow as tf

from albert_keras.system.progress import open_progress
from albert_keras.train_step import ExactTrainStep
from albert_keras.training.logs import JsonLines, RunLog, read_entry
from albert_keras.training.progress import RichProgress, line_printer
from tests.training import small_run

LOSSES = (8.0, 6.0, 4.0, 2.0, 5.0, 11.0, 7.0)


class FakeOptimizer:
    learning_rate = 0.5


class FakeVariable:
    @property
    def value(self):
        return self

    def assign(self, value):
        self.assigned = value


class FakeModel:
    """Keeps the mean of the loss since its metrics were reset, as Keras does."""

    def __init__(self):
        self.optimizer = FakeOptimizer()
        self.metrics_variables = [FakeVariable()]
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


def make_log(initial_step, state=None, **options):
    written = Entries()
    log = RunLog(initial_step, 2, [written], **options)
    log.restore(state or {})
    log.set_model(FakeModel())
    log.on_train_begin()
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


class Classifier(ExactTrainStep, keras.Model):
    """Predicts its input."""


def test_accuracies_of_batches_of_other_sizes_are_at_most_one():
    """After a batch with errors, a large batch without any has an accuracy of 1."""
    inputs = keras.Input((2,))
    model = Classifier(inputs, keras.layers.Dense(2, use_bias=False)(inputs))
    model.set_weights([np.eye(2)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    accuracy = keras.metrics.SparseCategoricalAccuracy("accuracy")
    model.compile(keras.optimizers.SGD(0.0), loss, weighted_metrics=[accuracy])
    x = np.eye(2)[[0, 1] * 10]
    labels = np.array([0, 0, *[0, 1] * 9])  # One error, in the first batch.
    batches = [(x[:3], labels[:3]), (x[3:], labels[3:])]
    data = tf.data.Dataset.from_generator(
        lambda: batches,
        output_signature=(tf.TensorSpec([None, 2]), tf.TensorSpec([None], "int64")),
    )
    written = Entries()
    log = RunLog(0, 1, [written])
    model.fit(data, steps_per_epoch=2, shuffle=False, verbose=0, callbacks=[log])
    found = [entry["accuracy"] for entry in written.entries]
    assert found == [pytest.approx(2 / 3), 1.0]


@pytest.mark.parametrize(
    "line", ["null", "[]", '{"loss": 1}', '{"step": "3"}', '{"step": 3', "[" * 10**5]
)
def test_a_line_without_an_entry(line, tmp_path):
    assert read_entry(line) is None
    (tmp_path / "log.jsonl").write_text(f'{line}\n{{"step": 2}}\n')
    JsonLines(tmp_path / "log.jsonl", last_step=3)
    assert (tmp_path / "log.jsonl").read_text() == '{"step": 2}\n'


def test_values_of_an_entry_are_numbers():
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


def test_quiet_bar_prints_nothing(capsys):
    with open_progress(quiet=True) as progress:
        callback = RichProgress(RunLog(0, 1, []), 5, progress)
        callback.on_epoch_begin(0)
        callback.on_train_batch_end(0, {"loss": 1.25})
        line_printer(progress.console)("a line")
    assert capsys.readouterr() == ("", "")


# === Scores of a function are logged and choose the best step ===


def test_scores_of_a_training_are_logged_and_choose_the_best(tmp_path):
    trainer, model = small_run.make_trainer(
        tmp_path, num_steps=10, best_metric="val_score"
    )
    seen = []

    def evaluate():
        seen.append(model.get_weights()[0])
        # The second is the best.
        return {"score": [0.5, 0.75, 0.625][len(seen) - 1], "tied": 2}

    logs = trainer.fit(model, small_run.make_dataset, evaluate)
    assert (logs["val_score"], logs["val_tied"]) == (0.625, 2)
    outcome = small_run.outcome(tmp_path, model, logs)
    evaluations = [line for line in outcome["lines"] if "val_score" in line]
    assert [(x["step"], x["val_score"], x["val_tied"]) for x in evaluations] == [
        (4, 0.5, 2.0),
        (8, 0.75, 2.0),
        (10, 0.625, 2.0),
    ]
    # Each saw the weights of its step.
    assert (trainer.restore_best(model).step, len(seen)) == (8, 3)
    assert np.array_equal(model.get_weights()[0], seen[1])
    assert not np.array_equal(seen[1], seen[2])
