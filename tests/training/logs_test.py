"""The log: means of their own steps, through resumes, and lines that are never twice."""

import json

import pytest

from albert_keras.training.logs import JsonLines, RunLog

LOSSES = (8.0, 6.0, 4.0, 2.0, 5.0, 11.0, 7.0)


class FakeOptimizer:
    learning_rate = 0.5


class FakeVariable:
    value = None

    def assign(self, value):
        self.assigned = value


class FakeModel:
    def __init__(self):
        self.optimizer = FakeOptimizer()
        self.metrics_variables = [FakeVariable()]


class Entries:
    def __init__(self):
        self.entries = []

    def write(self, entry, model):
        self.entries.append(entry)


def feed(log, first, last):
    """Gives a log the steps of one epoch, as Keras does: means since it began."""
    for step in range(first, last):
        mean = sum(LOSSES[: step + 1]) / (step + 1)
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


def test_several_steps_a_call():
    log, entries = make_log(0)
    log.on_train_batch_end(2, {"loss": 6.0})
    log.on_train_batch_end(5, {"loss": 5.0})
    assert [(entry["step"], entry["loss"]) for entry in entries] == [(3, 6.0), (6, 4.0)]


@pytest.mark.parametrize("cut", [1, 2, 3, 5])
def test_resumed_inside_of_an_epoch_it_writes_the_same(cut):
    whole, expected = make_log(0)
    feed(whole, 0, 7)
    before, entries = make_log(0)
    feed(before, 0, cut)
    state = json.loads(json.dumps(before.state()))
    after, more = make_log(cut, state=state, metrics=[[3.0]])
    assert after.model.metrics_variables[0].assigned == 3.0
    feed(after, cut, 7)
    entries = [*entries, *more]
    assert [entry["step"] for entry in entries] == [2, 4, 6]
    for entry, other in zip(entries, expected, strict=True):
        assert entry["loss"] == other["loss"]
    assert entries[-1]["seconds"] >= state["seconds"]


def test_means_of_other_metrics_begin_anew():
    before, _ = make_log(0)
    feed(before, 0, 3)
    # Of two metrics, or of two replicas, where there is one.
    for metrics in ([[3.0], [4.0]], [[3.0, 4.0]]):
        after, entries = make_log(3, state=before.state(), metrics=metrics)
        after.on_train_batch_end(0, {"loss": 2.5})
        assert [entry["loss"] for entry in entries] == [2.5]


def test_lines_of_steps_that_are_done_again_are_cut(tmp_path):
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


def test_half_a_line_of_an_early_step_is_cut(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}')
    JsonLines(path, last_step=3)
    assert path.read_text() == '{"step": 1}\n'
