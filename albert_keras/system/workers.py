"""Pool of worker processes that keeps finished results on disk."""

import contextlib
import functools
import itertools
import json
import multiprocessing
import os
import pathlib
import pickle
import queue
import signal
import sys
import tempfile
import threading
import types
from concurrent import futures

from albert_keras.checks import check_positive_integer
from albert_keras.system.files import write_json
from albert_keras.system.storage import to_path


class TaskPool:
    """Runs tasks and writes the result of each to a JSON file.

    A task whose file exists is not run again, so an interrupted or killed job continues
    where it stopped. If a worker is killed, the tasks of the others are finished, and an
    error is raised.

    Args:
        folder: str or path. Folder of the result files.
        num_workers: int >= 1. With 1, tasks run in this process.
        context: First argument of each task; must pickle.
    """

    def __init__(self, folder, num_workers, context):
        check_positive_integer("num_workers", num_workers)
        self.folder = to_path(folder)
        self._context, self._num_workers = context, num_workers
        self._executors, self._stack = [], contextlib.ExitStack()
        # Pickled here, so that errors are raised at once.
        self._pickled = pickle.dumps(context) if num_workers > 1 else None

    def __enter__(self):
        if self._num_workers > 1:
            # The context is not an argument of the processes: if a child is killed while
            # it starts, its parent waits forever to write what does not fit in a pipe.
            folder = self._stack.enter_context(tempfile.TemporaryDirectory())
            self._file = pathlib.Path(folder, "context")
            self._file.write_bytes(self._pickled)
            # Forks are not safe after TensorFlow has run. There is one executor for each
            # process, because an executor of several may wait forever if one process is
            # killed while another starts.
            spawn = multiprocessing.get_context("spawn")
            with _hidden_script():
                for _ in range(self._num_workers):
                    executor = futures.ProcessPoolExecutor(1, spawn, _begin)
                    self._executors.append(self._stack.enter_context(executor))
                    executor.submit(int)  # Starts the process.
        return self

    def __exit__(self, *error):
        # Tasks that have begun are finished, so their results are kept.
        self._stack.close()

    def run(self, name, function, tasks, weights=None, progress=None):
        """Runs `function(context, task)` for each task.

        Args:
            name: str. Prefix of the result files; the task's number follows.
            function: Importable function; its result must be serializable as JSON.
            tasks: Sequence of anything that pickles.
            weights: list of int. The amount of work of each task. Default: 1 each.
            progress: Function `(name, done, total)` of sums of weights, or None. It is
                called at the start and after each task, including finished ones.

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
        idle = queue.SimpleQueue()
        for executor in self._executors:
            idle.put(executor)

        def run_in_worker(number):
            executor, task = idle.get(), (function, self._file, tasks[number])
            try:
                return number, executor.submit(_work, *task, files[number]).result()
            finally:
                idle.put(executor)

        if not self._executors:
            for number, file in files.items():
                yield number, run_task(function, self._context, tasks[number], file)
            return
        try:
            with futures.ThreadPoolExecutor(len(self._executors)) as threads:
                yield from threads.map(run_in_worker, files)
        except futures.BrokenExecutor as error:
            raise RuntimeError(
                "A worker process must run until it is told to end. Received: one that "
                "ended, perhaps killed for its memory. Finished work is kept: repeat the "
                "call to continue, maybe with fewer workers."
            ) from error


def run_task(function, context, task, file):
    """Runs one task, writes its result to `file` atomically, and returns it."""
    result = function(context, task)
    write_json(file, result)
    return result


@contextlib.contextmanager
def _hidden_script():
    """Prevents new processes from importing the user's script.

    The script may import TensorFlow, or have no `__main__` guard.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _begin():
    """Prepares a worker: it uses no GPU, prints to stderr, and ends with its parent."""
    # The parent handles Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)


def _work(function, context_file, task, file):
    return run_task(function, _context_of(context_file), task, file)


@functools.cache
def _context_of(file):
    return pickle.loads(file.read_bytes())
