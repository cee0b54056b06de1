"""The log: means over its intervals, also after a resume; no line is written twice."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.train_step import ExactTrainStep
from albert_keras.training.logs import JsonLines, RunLog, read_entry

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


def test_several_steps_a_call():
    log, entries = make_log(0)
    log.on_train_batch_end(2, {"loss": 6.0})
    log.on_train_batch_end(5, {"loss": 4.0})
    assert [(entry["step"], entry["loss"]) for entry in entries] == [(3, 6.0), (6, 4.0)]


def test_running_means_are_restored_in_the_first_epoch_after_a_resume():
    before, _ = make_log(0)
    feed(before, 0, 3)
    state = json.loads(json.dumps(before.state()))
    after, entries = make_log(3, state=state, metrics=[[3.0]])
    variable = after.model.metrics_variables[0]
    assert variable.assigned == 3.0
    feed(after, 3, 4)
    assert [entry["step"] for entry in entries] == [4]
    assert entries[-1]["seconds"] >= state["seconds"]
    variable.assigned = None
    after.on_epoch_begin(1)
    assert variable.assigned is None


def test_lines_of_steps_that_are_repeated_are_removed(tmp_path):
    path = tmp_path / "log.jsonl"
    lines = JsonLines(path)
    for step in (2, 4, 4, 6):
        lines.write({"step": step, "loss": step / 7}, None)
    kept = path.read_text().splitlines(keepends=True)[:3]
    with path.open("a") as file:
        file.write('{"step": 8, "lo')
    JsonLines(path, last_step=5).write({"step": 6}, None)
    assert path.read_text() == "".join([*kept, '{"step": 6}\n'])
    assert list(tmp_path.iterdir()) == [path]


def test_an_incomplete_line_is_removed(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}')
    JsonLines(path, last_step=3)
    assert path.read_text() == '{"step": 1}\n'


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
