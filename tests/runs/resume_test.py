"""`pretrain` killed and stopped: the same command ends like an uninterrupted one."""

import json
import os
import random
import signal
import time

import numpy as np
import pytest

from albert_keras.converters import load_checkpoint
from tests.forked_processes import forked_processes, run_command
from tests.processes import foreign_lines, wait_until

NUM_STEPS, INTERVAL, LENGTH = 67, 31, 41


@pytest.fixture
def pretrain(text, vocabulary, tmp_path):
    """Returns the words of the command for a run."""

    def words(run):
        files = ["--text", text, "--tokenizer", vocabulary, "--workers", 1]
        files += ["--sequence-length", LENGTH]
        shape = ["--preset", "albert_test", "--max-sequence-length", LENGTH]
        shape += ["--num-layers", 1]
        steps = ["--num-steps", NUM_STEPS, "--batch-size", 7, "--warmup-steps", 5]
        often = ["--steps-per-evaluation", INTERVAL, "--steps-per-checkpoint", 2]
        return ["pretrain", *files, *shape, *steps, *often, "--run", tmp_path / run]

    return words


def newest_step(run):
    steps = [int(path.stem[5:]) for path in run.glob("checkpoints/step-*.npz")]
    return max(steps, default=0)


def unfinished_files(run):
    return list(run.glob("checkpoints/.*"))


def kill_at_random(process, run, chance):
    begun_at = newest_step(run)
    wait_until(lambda: newest_step(run) > begun_at, process, seconds=900)
    pause = chance.uniform(0.0, 0.2)
    time.sleep(pause)
    process.kill()
    process.wait()


def kill_while_writing(process, run):
    begun_at = newest_step(run)
    # What was left by the one before is gone by then.
    wait_until(lambda: newest_step(run) > begun_at, process, seconds=900)

    def is_held():
        if not unfinished_files(run):
            return False
        os.kill(process.pid, signal.SIGSTOP)
        # It stops a little later than it is told to.
        wait_until(lambda: state_of(process) == "T")
        if unfinished_files(run):
            return True
        os.kill(process.pid, signal.SIGCONT)
        return False

    wait_until(is_held, process, seconds=900)
    process.kill()
    process.wait()
    assert unfinished_files(run)


def state_of(process):
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


def stop_politely(process, run):
    begun_at = newest_step(run)
    wait_until(lambda: newest_step(run) > begun_at, process, seconds=900)
    process.terminate()
    out, err = process.communicate(timeout=300)
    assert process.returncode == 143
    assert out == ""
    assert foreign_lines(err) == []
    assert f"Stopped by SIGTERM at step {newest_step(run)}." in err


def outcome(run):
    """Returns what a run leaves, but for times."""
    times = {"seconds", "tokens_per_second"}
    lines = map(json.loads, (run / "log.jsonl").read_text("utf-8").splitlines())
    files = {path.name for path in (run / "checkpoints").iterdir()}
    return [{k: v for k, v in line.items() if k not in times} for line in lines], files


def weights(run):
    return [np.array(weight) for weight in load_checkpoint(run / "model").weights]


@pytest.mark.slow
def test_a_killed_and_stopped_run_ends_like_an_uninterrupted_one(
    pretrain, tmp_path, call
):
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    expected = call(*pretrain("straight"))
    chance = random.Random(23)
    with forked_processes() as start:

        def start_again():
            return start(run_command, *pretrain("killed"))

        kill_at_random(start_again(), killed, chance)
        kill_while_writing(start_again(), killed)
        stop_politely(start_again(), killed)
    assert 0 < newest_step(killed) < NUM_STEPS
    assert not (killed / "model").exists()
    results = call(*pretrain("killed"))
    assert {**results, "run": ""} == {**expected, "run": ""}
    assert outcome(killed) == outcome(straight)
    for first, second in zip(weights(killed), weights(straight), strict=True):
        assert np.array_equal(first, second)
