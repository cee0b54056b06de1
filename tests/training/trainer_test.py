"""Training through `Trainer.fit`: logs, checkpoints, and resumes that are exact."""

import json
import pathlib
import signal

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.optimizers import Lamb
from albert_keras.training.checkpoints import named_arrays
from albert_keras.training.dry_run import measure_steps, peak_memory
from albert_keras.training.strategies import Strategy
from tests.forked_processes import forked_processes
from tests.processes import claimed_by_another
from tests.training import small_run

LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

# === A small model ===


def test_diverged_training_stops_with_step_and_rate(tmp_path):
    trainer, model = small_run.make_trainer(tmp_path)
    trainer.compile(model, Lamb(float("nan")), LOSS, [])
    # The loss is that of before the step, its gradient is finite: the next one's is not.
    with pytest.raises(FloatingPointError, match="gradient norm nan at step 2"):
        trainer.fit(model, small_run.make_dataset)


# === Resuming ===


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a run of eight steps leaves; its folder has all that users look for."""
    folder = tmp_path_factory.mktemp("whole")
    found = small_run.outcome(folder, *small_run.train(folder))
    evaluations = [line for line in found["lines"] if "val_loss" in line]
    assert [line["step"] for line in evaluations] == [4, 8]
    assert {"learning_rate", "accuracy"} <= set(found["lines"][0])
    losses = {line["step"]: line["val_loss"] for line in evaluations}
    assert found["best"]["value"] == losses[found["best"]["step"]]
    assert found["best"]["value"] == min(losses.values())
    assert list((folder / "tensorboard").rglob("events.out.tfevents*"))
    return found


@pytest.mark.slow
def test_half_precision_resumes_exactly_with_the_scale_of_its_loss(tmp_path):
    half = {"dtype": "mixed_float16"}
    whole = small_run.outcome(tmp_path, *small_run.train(tmp_path, **half))
    cut = tmp_path / "cut"
    found, _ = small_run.stop_and_resume(cut, 6, signal.SIGTERM, **half)
    assert found == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at_step", "number", "options"),
    [
        (1, signal.SIGTERM, {}),
        (6, signal.SIGINT, {}),
        (3, signal.SIGTERM, {"steps_per_execution": 8}),
    ],
    ids=["first-interval", "keyboard", "several-a-call"],
)
def test_a_run_stopped_by_a_signal_resumes_exactly(
    tmp_path, whole, at_step, number, options
):
    found, newest = small_run.stop_and_resume(tmp_path, at_step, number, **options)
    assert newest != "step-00000008.npz"
    if not options:
        assert found == whole
    # Of several steps a call, the log has fewer lines.
    assert found["weights"] == whole["weights"]


@pytest.mark.slow
def test_a_run_that_patience_ended_is_finished(tmp_path):
    def train():
        trainer, model = small_run.make_trainer(
            tmp_path, 20, steps_per_evaluation=3, best_metric="val_score", patience=1
        )
        logs = trainer.fit(model, small_run.make_dataset, lambda: {"score": 0.5})
        return logs, (tmp_path / "log.jsonl").read_text()

    logs, lines = train()
    assert logs["val_score"] == 0.5
    assert json.loads(lines.splitlines()[-1])["step"] == 6
    # Called again, it neither trains nor evaluates.
    assert train() == ({}, lines)


@pytest.mark.slow
@pytest.mark.parametrize("at_step", [2, 7])
def test_a_run_lost_between_checkpoints_resumes_exactly(tmp_path, whole, at_step):
    options = {"steps_per_checkpoint": 3}
    breaking = small_run.interrupted_by(small_run.fail, at_step)
    with pytest.raises(tf.errors.OpError):
        small_run.train(tmp_path, breaking, **options)
    assert small_run.outcome(tmp_path, *small_run.train(tmp_path, **options)) == whole


def test_best_can_be_loaded(tmp_path, whole):
    small_run.train(tmp_path, num_checkpoints=1)
    trainer, model = small_run.make_trainer(tmp_path)
    best = trainer.restore_best(model)
    assert best._asdict() == {k: whole["best"][k] for k in best._fields}
    assert model.evaluate(small_run.batches(7, 4), verbose=0)[0] == best.value


def test_worker_that_is_not_chief_restores_but_writes_nothing(tmp_path, whole, capsys):
    small_run.train(tmp_path, num_steps=5)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    capsys.readouterr()
    other = Strategy("default", worker=1)
    model, _ = small_run.train(tmp_path, strategy=other)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert capsys.readouterr() == ("", "")
    arrays = {k: v.tolist() for k, v in named_arrays(model).items()}
    assert arrays == whole["weights"]


def test_dry_run_leaves_model_and_folder_as_they_are(tmp_path):
    trainer, model = small_run.make_trainer(tmp_path / "run", num_steps=720)
    before = named_arrays(model)
    results = trainer.dry_run(model, small_run.make_dataset)
    assert not (tmp_path / "run").exists()
    assert named_arrays(model).keys() == before.keys()
    for name, array in named_arrays(model).items():
        assert np.array_equal(array, before[name]), name
    assert results["batch"] == {"token_ids": [6, 13]}
    assert results["num_steps"] == 720
    assert results["hours"] == pytest.approx(results["seconds_per_step"] / 5)
    trained = results["tokens_per_second"] * results["seconds_per_step"]
    assert trained == pytest.approx(6 * 13)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "strategy"), [("jax", "default"), ("tensorflow", "mirrored")]
)
def test_a_run_of_another_process_resumes_exactly(tmp_path, backend, strategy):
    pytest.importorskip(backend)
    num_replicas = 2 if strategy == "mirrored" else 1
    options = {"num_devices": num_replicas, "KERAS_BACKEND": backend}
    with forked_processes() as start:
        process = start(small_run.main, tmp_path, strategy, **options)
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert output.startswith(f"{backend} {num_replicas} step-0000000")


def test_a_folder_of_another_process_is_left_alone(tmp_path):
    with claimed_by_another(tmp_path):
        with pytest.raises(BlockingIOError, match="Only one process"):
            small_run.train(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_steps_that_fail_are_undone(tmp_path):
    _, model = small_run.make_trainer(tmp_path)
    before = named_arrays(model)
    dataset = small_run.interrupted_by(small_run.fail, at_step=4)(0)
    with pytest.raises(Exception, match="power is gone"):
        measure_steps(model, dataset, num_steps=5)
    for name, array in named_arrays(model).items():
        assert np.array_equal(array, before[name]), name


def test_memory_is_the_peak_of_this_process():
    status = pathlib.Path("/proc/self/status").read_text().splitlines()
    (peak,) = (int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert peak_memory() == pytest.approx(peak * 1024, rel=0.05)
