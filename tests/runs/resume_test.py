"""`pretrain` killed and stopped: the same command ends like an uninterrupted one."""

import json
import random
import time

import pytest

from albert_keras.converters import load_checkpoint
from albert_keras.system import files
from tests.forked_processes import forked_processes, run_command
from tests.helpers import max_difference
from tests.processes import foreign_lines, wait_until
from tests.runs.conftest import newest_step

NUM_STEPS, INTERVAL, LENGTH = 67, 31, 41


@pytest.fixture
def pretrain(text, vocabulary, tmp_path):
    """Returns the words of the command for a run."""

    def words(run):
        source = ["--text", text, "--tokenizer", vocabulary, "--workers", 1]
        source += ["--sequence-length", LENGTH]
        shape = ["--preset", "albert_test", "--max-sequence-length", LENGTH]
        shape += ["--num-layers", 1]
        steps = ["--num-steps", NUM_STEPS, "--batch-size", 7, "--warmup-steps", 5]
        often = ["--steps-per-evaluation", INTERVAL, "--steps-per-checkpoint", 2]
        return ["pretrain", *source, *shape, *steps, *often, "--run", tmp_path / run]

    return words


def kill_at_random(process, run, chance):
    begun_at = newest_step(run)
    wait_until(lambda: newest_step(run) > begun_at, process, seconds=900)
    pause = chance.uniform(0.0, 0.2)
    time.sleep(pause)
    process.kill()
    process.wait()


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
    names = {path.name for path in (run / "checkpoints").iterdir()}
    return [{k: v for k, v in line.items() if k not in times} for line in lines], names


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
        # A kill while a checkpoint is written leaves such a folder.
        (killed / "checkpoints" / f"{files._WORK_PREFIX}left").mkdir()
        stop_politely(start_again(), killed)
    assert 0 < newest_step(killed) < NUM_STEPS
    assert not (killed / "model").exists()
    results = call(*pretrain("killed"))
    assert {**results, "run": ""} == {**expected, "run": ""}
    assert outcome(killed) == outcome(straight)
    weights = [load_checkpoint(run).get_weights() for run in (killed, straight)]
    assert max_difference(*weights) == 0
