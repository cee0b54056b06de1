"""Tasks in processes: results, resume, errors, interrupts and killed parents."""

import multiprocessing.util
import os
import pathlib
import signal

import pytest

from albert_keras.pretraining import workers
from albert_keras.pretraining.workers import TaskPool
from tests.processes import started_processes, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def new_processes(monkeypatch):
    """Workers start as for users, not as in the other tests."""
    monkeypatch.setattr(workers, "START_METHOD", "spawn")


def note(folder, number):
    """Task that writes a file to `folder`, or fails if another file is there."""
    if (folder / f"forbidden-{number}").exists():
        raise ValueError(f"Task {number} is forbidden.")
    with open(folder / f"ran-{number}", "a") as file:
        file.write(".")
    return {"square": number**2, "process": os.getpid()}


def run(folder, num_workers, numbers=range(9), progress=None):
    with TaskPool(folder / "results", num_workers, folder) as pool:
        return pool.run("noted", note, list(numbers), progress=progress)


def times_run(folder):
    return {
        int(path.name.removeprefix("ran-")): path.stat().st_size
        for path in folder.glob("ran-*")
    }


def result_files(folder):
    return sorted(path.name for path in (folder / "results").iterdir())


@pytest.mark.parametrize("num_workers", [1, 2])
def test_results_have_the_order_of_tasks(tmp_path, num_workers):
    found = run(tmp_path, num_workers)
    assert [result["square"] for result in found] == [n**2 for n in range(9)]
    in_this_process = {result["process"] for result in found} == {os.getpid()}
    assert in_this_process == (num_workers == 1)
    assert result_files(tmp_path) == [f"noted-{n:06}.json" for n in range(9)]


def test_finished_tasks_are_not_repeated(tmp_path):
    first = run(tmp_path, num_workers=2)
    (tmp_path / "results/noted-000005.json").unlink()
    calls = []
    second = run(tmp_path, num_workers=1, progress=lambda *call: calls.append(call))
    assert times_run(tmp_path) == {n: 1 + (n == 5) for n in range(9)}
    assert second[:5] + second[6:] == first[:5] + first[6:]
    assert second[5] == {"square": 25, "process": os.getpid()}
    assert calls == [("noted", done, 9) for done in range(10)]
    # More tasks of the same name: those that are new are run.
    assert len(run(tmp_path, num_workers=2, numbers=range(11))) == 11
    assert sum(times_run(tmp_path).values()) == 12


@pytest.mark.parametrize("num_workers", [1, 2])
def test_error_is_raised_and_results_are_kept(tmp_path, num_workers):
    (tmp_path / "forbidden-6").touch()
    with pytest.raises(ValueError, match="Task 6 is forbidden"):
        run(tmp_path, num_workers)
    finished = times_run(tmp_path)
    assert finished.keys() >= {*range(6)}
    assert result_files(tmp_path) == [f"noted-{n:06}.json" for n in sorted(finished)]
    (tmp_path / "forbidden-6").unlink()
    found = run(tmp_path, num_workers)
    assert [result["square"] for result in found] == [n**2 for n in range(9)]
    assert times_run(tmp_path) == dict.fromkeys(range(9), 1)


def die(folder, number):
    """Task that kills its process, as the system does where memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_is_an_error(tmp_path):
    with TaskPool(tmp_path, 2, tmp_path) as pool:
        with pytest.raises(RuntimeError, match="one that ended, .*repeat the call"):
            pool.run("died", die, range(3))
        with pytest.raises(RuntimeError, match="one that ended, .*repeat the call"):
            pool.run("noted", note, [1])


def test_a_worker_that_is_killed_while_it_starts_is_an_error(tmp_path, monkeypatch):
    start = multiprocessing.util.spawnv_passfds

    def start_and_kill(*arguments):
        process_id = start(*arguments)
        os.kill(process_id, signal.SIGKILL)
        return process_id

    monkeypatch.setattr(multiprocessing.util, "spawnv_passfds", start_and_kill)
    # More than a pipe holds.
    with TaskPool(tmp_path, 2, bytes(2**20)) as pool:
        with pytest.raises(RuntimeError, match="one that ended, "):
            pool.run("item", bytes.__getitem__, range(3))


@pytest.fixture
def start_job(tmp_path):
    """Returns a function that starts `worker_job.py`, in a process group of its own."""
    with started_processes(cwd=ROOT) as start:

        def start_job(num_tasks, seconds):
            (tmp_path / "begun").mkdir(exist_ok=True)
            module = ("-m", "tests.pretraining.worker_job")
            return start(*module, tmp_path, 2, num_tasks, seconds)

        yield start_job


def begun(folder):
    """Returns the number and process id of each task that has begun."""
    return [
        tuple(map(int, path.name.split("-"))) for path in (folder / "begun").iterdir()
    ]


def is_running(process_id):
    # An ended process may be a zombie until its parent waits for it.
    try:
        status = pathlib.Path(f"/proc/{process_id}/stat").read_text("ascii")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def test_workers_end_with_a_killed_parent(tmp_path, start_job):
    job = start_job(num_tasks=5, seconds=60)
    wait_until(lambda: len(begun(tmp_path)) == 2)
    workers = {process_id for _, process_id in begun(tmp_path)}
    assert len(workers) == 2
    assert all(map(is_running, workers))
    job.kill()
    wait_until(lambda: not any(map(is_running, workers)))
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_interrupt_finishes_running_tasks(tmp_path, start_job):
    job = start_job(num_tasks=31, seconds=0.4)
    wait_until(lambda: len(begun(tmp_path)) >= 3)
    os.killpg(job.pid, signal.SIGINT)
    _, errors = job.communicate(timeout=100)
    assert job.returncode == -signal.SIGINT
    assert errors.count("KeyboardInterrupt") == 1
    done = [number for number, _ in begun(tmp_path)]
    assert 3 <= len(done) < 10
    results = sorted((tmp_path / "results").iterdir())
    assert [path.name for path in results] == [
        f"waited-{n:06}.json" for n in sorted(done)
    ]
    assert not any(is_running(process_id) for _, process_id in begun(tmp_path))

    output, errors = start_job(num_tasks=31, seconds=0).communicate(timeout=100)
    assert (output, errors) == (f"{[n**2 for n in range(31)]}\n", "")
    assert sorted(number for number, _ in begun(tmp_path)) == list(range(31))
