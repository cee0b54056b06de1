"""Pool of worker processes that keeps finished results on disk."""

import concurrent.futures
import contextlib
import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading

from albert_keras.files import write_json
from albert_keras.storage import to_path


class TaskPool:
    """Runs tasks and writes the result of each to a JSON file.

    A task whose file exists is not run again, so an interrupted or killed job continues
    where it stopped. Workers are spawned, because a process that has run TensorFlow
    cannot be forked safely.

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
            self._executor = concurrent.futures.ProcessPoolExecutor(
                num_workers,
                multiprocessing.get_context("spawn"),
                initializer=_begin_worker,
                initargs=(context,),
            )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._executor is not None:
            # Tasks that have begun are finished, so that their results are kept.
            self._executor.shutdown(wait=True, cancel_futures=True)

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
        with _deferred_interrupts():
            futures = {
                self._executor.submit(_run_in_worker, function, tasks[n], file): n
                for n, file in files.items()
            }
        for future in concurrent.futures.as_completed(futures):
            yield futures[future], future.result()


@contextlib.contextmanager
def _deferred_interrupts():
    """Defers Ctrl-C while workers are started, and blocks it in the workers for good.

    Interrupted while it starts a worker, the parent would wait for it forever.
    """
    received, handler = [], None
    if threading.current_thread() is threading.main_thread():
        handler = signal.signal(signal.SIGINT, lambda *signal: received.append(signal))
    # Processes inherit the signal mask of the thread that starts them.
    has_masks = hasattr(signal, "pthread_sigmask")  # Not on Windows.
    if has_masks:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if has_masks:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
    if received:
        signal.raise_signal(signal.SIGINT)


def run_task(function, context, task, file):
    """Runs one task, writes its result to `file` atomically, and returns it."""
    result = function(context, task)
    write_json(file, result)
    return result


_worker_context = None


def _begin_worker(context):
    global _worker_context
    _worker_context = context
    # A corpus of TFDS imports TensorFlow, which would reserve memory of the GPU.
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent():
    """Ends this process when its parent has ended, for example by SIGKILL."""
    multiprocessing.connection.wait([multiprocessing.parent_process().sentinel])
    os._exit(1)


def _run_in_worker(function, task, file):
    return run_task(function, _worker_context, task, file)
