"""Runs of several phases: rows, batches and depth that change, and exact resumes."""

import json

import keras
import pytest

from albert_keras.converters import load_checkpoint
from albert_keras.runs import PretrainingRun, PretrainingRunConfig
from albert_keras.runs.pretraining import RunPhases
from albert_keras.training.checkpoints import CheckpointFolder
from tests.helpers import max_difference

LENGTH, SHORT = 41, 19
SHAPE = {"max_sequence_length": LENGTH, "num_layers": 2}
PHASES = (
    f"num_steps=5,batch_size=6,num_layers=1,sequence_length={SHORT},masking=token",
    "num_steps=4,batch_size=9",
)


@pytest.fixture(scope="module")
def store(prepare):
    return prepare(LENGTH)


@pytest.fixture(scope="module")
def configure(store, vocabulary):
    """Returns the configuration of a run in a folder."""

    def make(folder, **changes):
        options = {
            "data": str(store),
            "tokenizer": str(vocabulary),
            "preset": "albert_test",
            "model_options": SHAPE,
            "phases": PHASES,
            "learning_rate": 0.01,
            "warmup_steps": 2,
            "steps_per_evaluation": 3,
            "steps_per_checkpoint": 1,
            **changes,
        }
        return PretrainingRunConfig(run=str(folder), **options)

    return make


@pytest.fixture(scope="module")
def whole(configure, tmp_path_factory):
    """The folder of a run that nobody interrupted, and its results."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, PretrainingRun(configure(folder)).fit()


class StopAfter(keras.callbacks.Callback):
    """Interrupts training after some steps, before the last one is in a checkpoint."""

    def __init__(self, num_steps):
        super().__init__()
        self.num_left = num_steps

    def on_train_batch_end(self, batch, logs=None):
        self.num_left -= 1
        if not self.num_left:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_a_run_interrupted_between_and_inside_phases_ends_as_a_whole_one(
    whole, configure, tmp_path, monkeypatch
):
    folder, results = whole
    config = configure(tmp_path)
    checkpoints = CheckpointFolder(tmp_path / "checkpoints", 1)
    callbacks, stops = RunPhases.callbacks, [StopAfter(6), StopAfter(2)]
    monkeypatch.setattr(
        RunPhases, "callbacks", lambda *args: [*callbacks(*args), stops.pop(0)]
    )
    for kept in (5, 6):
        with pytest.raises(KeyboardInterrupt):
            PretrainingRun(config).fit()
        assert checkpoints.newest_step() == kept
    monkeypatch.undo()
    resumed = PretrainingRun(config).fit()
    assert {**resumed, "run": ""} == {**results, "run": ""}
    weights = [load_checkpoint(path).get_weights() for path in (folder, tmp_path)]
    assert max_difference(*weights) == 0.0


@pytest.mark.slow
def test_one_schedule_over_all_phases(whole):
    folder, _ = whole
    lines = (folder / "log.jsonl").read_text("utf-8").splitlines()
    log = [json.loads(line) for line in lines]
    # An evaluation before each phase, from which on the intervals count anew.
    assert [e["step"] for e in log if "val_loss" in e] == [3, 5, 8, 9]
    rates = {entry["step"]: entry["learning_rate"] for entry in log}
    expected = {1: 0.005} | {step: 0.01 * (1 - step / 9) for step in range(2, 10)}
    assert rates == pytest.approx(expected)


@pytest.mark.slow
def test_a_dry_run_measures_each_phase(configure, tmp_path):
    results = PretrainingRun(configure(tmp_path)).dry_run()
    phases = results["phases"]
    sizes = [5 * 6 * SHORT, 4 * 9 * LENGTH]
    assert [phases[n]["positions"] for n in "12"] == sizes
    assert (results["positions"], results["num_steps"]) == (sum(sizes), 9)
    assert results["hours"] == pytest.approx(sum(p["hours"] for p in phases.values()))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"phases": PHASES[:1]}, "be as deep. Received: num_layers .1. for a"),
        (
            {"phases": (f"{PHASES[0]},num_layers=5", PHASES[1])},
            "5, 2. for a model of 2",
        ),
        (
            {"phases": (f"{PHASES[1]},sequence_length=43",)},
            "sequence_length=43, max_seq",
        ),
        ({"model_options": {**SHAPE, "sharing": "ffn"}}, "one shared layer. Rec"),
        ({"num_steps": 13}, "no effect with phases.*num_steps=13"),
    ],
)
def test_phases_that_do_not_fit(configure, tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        PretrainingRun(configure(tmp_path, **changes)).prepare()


def test_records_have_no_phases(configure, prepare, tmp_path):
    records = ["--format", "tfrecord", "--dupe-factor", 1]
    config = configure(tmp_path, data=str(prepare(LENGTH, *records)))
    with pytest.raises(ValueError, match="Prepare the text with --format store"):
        PretrainingRun(config).prepare()
