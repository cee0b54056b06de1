"""`pretrain` with two workers: a killed one ends both, and the next start resumes."""

import json
import time

import numpy as np
import pytest

from albert_keras import sample
from albert_keras.cli import main
from tests.clusters import worker_environments
from tests.forked_processes import forked_processes, run_command
from tests.processes import foreign_lines, wait_until

NUM_STEPS, STEPS_PER_CHECKPOINT = 24, 4


@pytest.fixture(scope="module")
def data(tmp_path_factory, vocabulary):
    folder = tmp_path_factory.mktemp("data")
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    text = folder / "corpus.txt"
    text.write_text("\n\n".join(documents[:29]))
    words = ["prepare-data", text, "--tokenizer", vocabulary, "--validation-split", 0]
    words += ["--output", folder / "records", "--sequence-length", 19]
    assert main([*map(str, words), "--num-shards", "1"]) == 0
    return folder / "records"


@pytest.fixture
def start_workers(data, vocabulary, tmp_path):
    """Starts the two workers of a run; all that it started are killed in the end."""
    words = {
        "--data": data,
        "--validation-data": data,
        "--tokenizer": vocabulary,
        "--preset": "albert_test",
        "--num-layers": 1,
        "--batch-size": 6,
        "--num-steps": NUM_STEPS,
        "--steps-per-evaluation": NUM_STEPS,
        "--steps-per-checkpoint": STEPS_PER_CHECKPOINT,
        "--run": tmp_path / "run",
    }
    words = ["pretrain", "--json", *(word for pair in words.items() for word in pair)]
    with forked_processes() as start:

        def start_all(strategy):
            environments = worker_environments(strategy, 2)
            command = [run_command, *words, "--strategy", strategy]
            return [start(*command, **environment) for environment in environments]

        yield start_all


def newest_step(run):
    """Returns the step of the newest checkpoint, or 0."""
    files = (run / "checkpoints").glob("step-*.npz")
    return max((int(file.stem[-8:]) for file in files), default=0)


def kill_one(workers, victim, run):
    """Kills one of two workers after a checkpoint, and checks how the other ends."""
    before = newest_step(run)
    wait_until(lambda: newest_step(run) > before, workers[0], seconds=900)
    workers[victim].kill()
    killed = time.monotonic()
    out, err = workers[1 - victim].communicate(timeout=60)
    assert time.monotonic() - killed < 60
    assert workers[1 - victim].returncode == 1
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("albert-keras: error: A worker is gone, and all must end.")
    assert err.count("albert-keras: error") == 1
    assert foreign_lines(err) == []
    assert not (run / "model").exists()


def logged_steps(run):
    lines = (run / "log.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


@pytest.mark.slow
def test_the_killed_first_worker_of_jax_ends_all(start_workers, tmp_path):
    # The one that the others hear of all errors from. With TensorFlow another is killed.
    kill_one(start_workers("data_parallel"), 0, tmp_path / "run")


@pytest.mark.slow
def test_after_a_killed_worker_of_tensorflow_the_next_start_resumes(
    start_workers, tmp_path
):
    run = tmp_path / "run"
    kill_one(start_workers("multi_worker"), 1, run)
    newest = newest_step(run)
    workers = start_workers("multi_worker")
    results = [worker.communicate(timeout=900) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], results
    assert results[1][0] == ""
    report = json.loads(results[0][0])
    assert np.isfinite(report["mlm_loss"])
    assert (run / "model" / "config.json").is_file()
    steps = logged_steps(run)
    assert steps == sorted(steps)
    assert newest < steps[-1] == NUM_STEPS
