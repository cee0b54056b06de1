"""Pool of worker processes that keeps finished results on disk."""

import concurrent.futures
import contextlib
import itertools
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback

from albert_keras.system.child_process import python_program
from albert_keras.system.files import write_json
from albert_keras.system.storage import to_path


class TaskPool:
    """Runs tasks and writes the result of each to a JSON file.

    A task whose file exists is not run again, so an interrupted or killed job continues
    where it stopped. A lost worker is an error, and what the others have begun is
    finished.

    Args:
        folder: str or path of the results.
        num_workers: int >= 1. With 1, tasks run in this process.
        context: First argument of each task; must pickle.
    """

    def __init__(self, folder, num_workers, context):
        if num_workers < 1:
            raise ValueError(
                f"`num_workers` must be at least 1. Received: num_workers={num_workers}."
            )
        self.folder = to_path(folder)
        self._context = context
        self._executor = None
        if num_workers > 1:
            # Its errors are raised here, before a process waits for it.
            pickled = pickle.dumps(context)
            self._workers = [_Worker(pickled) for _ in range(num_workers)]
            # Those that have been started first.
            self._idle = queue.LifoQueue()
            for worker in self._workers:
                self._idle.put(worker)
            # A thread waits for each worker.
            self._executor = concurrent.futures.ThreadPoolExecutor(num_workers)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._executor is not None:
            # Tasks that have begun are finished, so that their results are kept.
            self._executor.shutdown(wait=True, cancel_futures=True)
            for worker in self._workers:
                worker.end()

    def run(self, name, function, tasks, weights=None, progress=None):
        """Runs `function(context, task)` for each task.

        Args:
            name: str. Prefix of the result files; the task's number follows.
            function: Importable function; its result must be serializable as JSON.
            tasks: Sequence of anything that pickles.
            weights: list of int: the work of each task. By default 1 each.
            progress: callable `(name, done, total)` of sums of weights, or None. Called
                at the beginning and after each task, also for earlier results.

        Returns:
            List of the results, in the order of the tasks.
        """
        weights = weights or [1] * len(tasks)
        progress = progress or (lambda *_: None)
        done, total = 0, sum(weights)
        progress(name, done, total)
        files = [self.folder / f"{name}-{n:06}.json" for n in range(len(tasks))]
        present = set(self.folder.glob(f"{name}-*.json"))
        missing = {n: file for n, file in enumerate(files) if file not in present}
        found = (
            (number, json.loads(file.read_text("utf-8")))
            for number, file in enumerate(files)
            if number not in missing
        )
        made, results = self._run_all(function, tasks, missing), {}
        for number, result in itertools.chain(found, made):
            results[number] = result
            done += weights[number]
            progress(name, done, total)
        return [results[number] for number in range(len(tasks))]

    def _run_all(self, function, tasks, files):
        """Runs the tasks of `files`, `{number: path}`; yields numbers and results."""
        if self._executor is None:
            for number, file in files.items():
                yield number, run_task(function, self._context, tasks[number], file)
            return
        futures = {
            self._executor.submit(self._run_in_worker, function, tasks[number], file): (
                number
            )
            for number, file in files.items()
        }
        for future in concurrent.futures.as_completed(futures):
            yield futures[future], future.result()

    def _run_in_worker(self, *task):
        worker = self._idle.get()
        try:
            return worker.run(*task)
        finally:
            self._idle.put(worker)


def run_task(function, context, task, file):
    """Runs one task, writes its result to `file` atomically, and returns it."""
    result = function(context, task)
    write_json(file, result)
    return result


class _Worker:
    """A process that runs tasks one after the other, started by the first one.

    It reads pickled tasks from its standard input, and writes results to its standard
    output. When it is killed, at any moment, both pipes break: nothing waits for it. It
    is no child of `multiprocessing`, whose parents keep both ends of a pipe while they
    start a process; nor a fork, which is unsafe after TensorFlow has run.
    """

    def __init__(self, pickled_context):
        self._context = pickled_context
        self._process = None

    def run(self, function, task, file):
        """Runs a task as `run_task`, and raises its error."""
        # The reader, a thread of the process, only takes the bytes.
        message = pickle.dumps(pickle.dumps((function, task, file)))
        if self._process is None:
            self._process = _start_process()
            message = self._context + message
        try:
            self._process.stdin.write(message)
            self._process.stdin.flush()
            result, error = pickle.load(self._process.stdout)
        # OSError: a broken pipe, which is another error on Windows.
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self._process.kill()
            raise RuntimeError(
                "A worker process must run until it is told to end. Received: one that "
                f"ended with status {self._process.wait()}, perhaps killed for its "
                "memory. Finished work is kept: repeat the call to continue, maybe with "
                "fewer workers."
            ) from error
        if error is not None:
            raise error
        return result

    def end(self):
        """Ends the process, if it was started."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self._process.stdout.close()
            self._process.wait()


def _start_process():
    if hasattr(signal, "pthread_sigmask"):  # Not on Windows.
        # Ctrl-C is for the main thread. The process inherits the mask.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    return subprocess.Popen(
        **python_program(__name__), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def work():
    """Runs the tasks of a parent process until it ends, or closes standard input."""
    results = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What libraries print is no result.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    context, tasks = pickle.load(sys.stdin.buffer), queue.SimpleQueue()
    reader = threading.Thread(target=_read_tasks, args=(tasks,), daemon=True)
    reader.start()
    while True:
        pickle.dump(_result_of(tasks.get(), context), results)
        results.flush()


def _read_tasks(tasks):
    """Reads pickled tasks while others run, to see the end of the parent at once."""
    while True:
        try:
            tasks.put(pickle.load(sys.stdin.buffer))
        except (EOFError, pickle.UnpicklingError):  # One that is cut off.
            os._exit(0)


def _result_of(pickled_task, context):
    """Returns the result of a task and None, or None and its error."""
    try:
        function, task, file = pickle.loads(pickled_task)
        return run_task(function, context, task, file), None
    except Exception as error:
        error.add_note(traceback.format_exc())
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return None, RuntimeError(f"{type(error).__name__}: {error}")
        return None, error


if __name__ == "__main__":
    work()
