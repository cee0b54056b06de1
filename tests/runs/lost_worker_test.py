"""`pretrain` with two workers: a killed one ends both, and the next start resumes."""

import json

import numpy as np
import pytest

from tests.clusters import worker_environments
from tests.forked_processes import forked_processes, run_command
from tests.processes import wait_until
from tests.runs.conftest import newest_step

NUM_STEPS, STEPS_PER_CHECKPOINT = 24, 4


@pytest.fixture(scope="module")
def data(prepare):
    return prepare(19, "--format", "tfrecord", "--dupe-factor", 1)


@pytest.fixture
def start_workers(data, vocabulary, tmp_path):
    """Starts the two workers of a run; all that it started are killed in the end."""
    words = ["pretrain", "--json", "--data", data, "--validation-data", data]
    words += ["--tokenizer", vocabulary, "--preset", "albert_test", "--num-layers", 1]
    words += ["--run", tmp_path / "run", "--strategy", "data_parallel"]
    words += ["--batch-size", 6, "--num-steps", NUM_STEPS]
    words += ["--steps-per-evaluation", NUM_STEPS]
    words += ["--steps-per-checkpoint", STEPS_PER_CHECKPOINT]
    with forked_processes() as start:

        def start_all():
            environments = worker_environments(2)
            return [start(run_command, *words, **each) for each in environments]

        yield start_all


def logged_steps(run):
    lines = (run / "log.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


@pytest.mark.slow
def test_a_killed_worker_ends_all_and_the_next_start_resumes(start_workers, tmp_path):
    run = tmp_path / "run"
    # The first is the one that the others hear of all errors from.
    first, other = start_workers()
    wait_until(lambda: newest_step(run) > 0, first, seconds=900)
    first.kill()
    assert other.wait(timeout=60) != 0
    assert not (run / "model").exists()
    newest = newest_step(run)
    workers = start_workers()
    results = [worker.communicate(timeout=900) for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], results
    report, others = (out[out.find("{") :] for out, _ in results)
    assert np.isfinite(json.loads(report)["mlm_loss"])
    assert "mlm_loss" not in others
    assert (run / "model" / "config.json").is_file()
    steps = logged_steps(run)
    assert steps == sorted(steps)
    assert newest < steps[-1] == NUM_STEPS
