"""`prepare-data` killed and interrupted: the same command resumes it."""

import json
import os
import pathlib
import random
import signal
import time

import pytest

from albert_keras import sample
from albert_keras.cli import main
from tests.cli.conftest import content
from tests.forked_processes import forked_processes, run_command
from tests.processes import wait_until

pytestmark = pytest.mark.slow

NUM_DOCUMENTS, NUM_COPIES, NUM_PARTS, NUM_SHARDS = 481, 14, 2, 11


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A text of two parts, and of two blocks."""
    path = tmp_path_factory.mktemp("large") / "corpus.txt"
    text = sample.CORPUS.read_text("utf-8").strip()
    path.write_text("\n\n".join([text] * NUM_COPIES))
    return path


@pytest.fixture
def words(corpus, vocabulary, tmp_path):
    return command(corpus, vocabulary, tmp_path)


@pytest.fixture(scope="module")
def expected(corpus, vocabulary, tmp_path_factory):
    """The files of a command that is not interrupted."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert main(command(corpus, vocabulary, folder)) == 0
    return content(folder)


def command(corpus, vocabulary, folder):
    words = ["prepare-data", corpus, "--tokenizer", vocabulary, "--output", folder]
    options = ["--format", "tfrecord", "--dupe-factor", 1, "--workers", 2]
    options += ["--sequence-length", 128]
    options += ["--validation-split", 0]
    return [str(word) for word in [*words, *options, "--num-shards", NUM_SHARDS]]


@pytest.fixture
def start(words):
    """Starts the command in a process group of its own, ended when the test is."""
    with forked_processes() as start:
        yield lambda: start(run_command, *words)


def wait_for_tasks(folder, stage, count, process):
    """Waits until the command has begun, and a stage has as many finished tasks."""
    wait_until((folder / "unfinished" / "arguments.json").is_file, process)
    wait_until(lambda: len(finished_tasks(folder, stage)) >= count, process)


def wait_for_end(process):
    """Waits until no process of the group is left."""
    wait_until(lambda: not running_processes(process.pid))


def running_processes(group):
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = file.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        # What has ended may be kept as a zombie until its parent asks for it.
        if int(its_group) == group and state not in "ZX":
            found.append(int(file.parent.name))
    return found


def times_of(paths):
    return {path: path.stat().st_mtime_ns for path in paths}


def finished_tasks(folder, stage="*"):
    """Returns when each task of a stage was finished, by the path of its result."""
    return times_of((folder / "unfinished").glob(f"{stage}-??????.json"))


def interrupt(process):
    """Interrupts a command as a terminal does: all its processes."""
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1].startswith("albert-keras: interrupted: the same")
    assert "Traceback" not in err
    assert "KeyboardInterrupt" not in err


def test_killed_and_interrupted_again_and_again(
    words, expected, tmp_path, start, capsys
):
    chance = random.Random(17)
    done, num_stops = {}, 0
    for stage, count, stop in [
        # While workers start, and while they work.
        ("tokenize", 0, interrupt),
        ("tokenize", 1, None),
        ("tokenize", NUM_PARTS, None),
        ("examples", 1, interrupt),
        ("write", chance.randint(1, 4), None),
    ]:
        num_finished = len(finished_tasks(tmp_path, stage))
        # Python would be interrupted before it has called anything.
        is_early = stop and 0 < count <= num_finished
        if is_early or num_finished > count:
            continue
        process = start()
        wait_for_tasks(tmp_path, stage, count, process)
        if stop:
            stop(process)
        else:
            time.sleep(chance.uniform(0, 0.03))
            process.kill()
        wait_for_end(process)
        num_stops += 1
        assert not (tmp_path / "dataset.json").exists()
        # What was done is not done again.
        found = finished_tasks(tmp_path)
        assert done.items() <= found.items()
        done = found
    assert num_stops >= 3

    shards = times_of(tmp_path.glob("[!.]*.tfrecord"))
    numbers = [int(path.stem[-6:]) for path in finished_tasks(tmp_path, "write")]
    finished = {
        f"pretraining-{number:05}-of-{NUM_SHARDS:05}.tfrecord" for number in numbers
    }
    # A file may be there whose task was killed before it recorded it.
    assert {path.name for path in shards} >= finished
    assert main(words) == 0
    assert finished
    assert all(
        (tmp_path / n).stat().st_mtime_ns == shards[tmp_path / n] for n in finished
    )
    # Files that were interrupted between their creation and their removal are gone too.
    assert content(tmp_path) == expected
    assert list(tmp_path.rglob(".*")) == []
    # Once more there is nothing to do.
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["num_documents"] == NUM_COPIES * NUM_DOCUMENTS
