"""Pool of worker processes that keeps finished results on disk."""

import functools
import json
import multiprocessing
import os
import pathlib
import pickle
import signal
import sys
import tempfile
import threading
import types
from concurrent import futures

from albert_keras.checks import check_positive_integer
from albert_keras.system.files import write_json
from albert_keras.system.storage import to_path

# Forks are not safe after TensorFlow has run.
START_METHOD = "spawn"


class TaskPool:
    """Runs tasks and writes the result of each to a JSON file.

    A task whose file exists is not run again, so an interrupted or killed job continues
    where it stopped.

    Args:
        folder: str or path. Folder of the result files.
        num_workers: int >= 1. With 1, tasks run in this process.
        context: First argument of each task; must pickle.
    """

    def __init__(self, folder, num_workers, context):
        check_positive_integer("num_workers", num_workers)
        self.folder, self._context = to_path(folder), context
        self._num_workers, self._executor = num_workers, None

    def __enter__(self):
        if self._num_workers > 1:
            context = multiprocessing.get_context(START_METHOD)
            # If a child is killed while it starts, its parent waits forever to write an
            # argument that does not fit in a pipe.
            self._file = tempfile.NamedTemporaryFile()
            pickle.dump(self._context, self._file)
            self._file.flush()
            self._executor = futures.ProcessPoolExecutor(
                self._num_workers, context, _begin, [self._file.name]
            )
        return self

    def __exit__(self, *error):
        if self._executor:
            # Tasks that have begun are finished, so their results are kept.
            self._executor.shutdown(cancel_futures=True)
            self._file.close()

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

        Raises:
            RuntimeError: If a worker process is killed. Finished results are kept.
        """
        weights = weights or [1] * len(tasks)
        progress = progress or (lambda *_: None)
        done, total, results = 0, sum(weights), []
        progress(name, done, total)
        files = [self.folder / f"{name}-{n:06}.json" for n in range(len(tasks))]
        for result in self._run_all(function, tasks, files):
            done += weights[len(results)]
            results.append(result)
            progress(name, done, total)
        return results

    def _run_all(self, function, tasks, files):
        """Yields the results of tasks, in their order, given the path of each result."""
        if self._executor is None:
            for task, file in zip(tasks, files, strict=True):
                yield run_task(function, self._context, task, file)
            return
        # New processes import the user's script, which may import TensorFlow or have no
        # `__main__` guard. An empty module takes its place while they start.
        script = sys.modules["__main__"]
        work = functools.partial(_work, function)
        try:
            try:
                sys.modules["__main__"] = types.ModuleType("__main__")
                results = self._executor.map(work, tasks, files)
            except OSError as error:
                # A worker was killed while the next one starts, with pipes just closed.
                raise futures.BrokenExecutor from error
            finally:
                sys.modules["__main__"] = script
            yield from results
        except futures.BrokenExecutor as error:
            raise RuntimeError(
                "A worker process must run until it is told to end. Received: one that "
                "ended, perhaps killed for its memory. Finished work is kept: repeat the "
                "call to continue, maybe with fewer workers."
            ) from error


def run_task(function, context, task, file):
    """Returns the result of a task, which `file` has or gets atomically."""
    if file.is_file():
        return json.loads(file.read_text("utf-8"))
    result = function(context, task)
    write_json(file, result)
    return result


def _begin(file):
    """Prepares a worker: it uses no GPU, prints to stderr, and ends with its parent."""
    global _context
    _context = pickle.loads(pathlib.Path(file).read_bytes())
    # The parent handles Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.dup2(2, 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)


def _work(function, task, file):
    return run_task(function, _context, task, file)
