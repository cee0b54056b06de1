"""The tasks of a preparation on an Apache Beam runner, on one machine or on many."""

import contextlib
import json
import pathlib

from albert_keras.checks import import_optional
from albert_keras.files import write_json
from albert_keras.pretraining.workers import TaskPool, run_task

RUNNERS = ("DirectRunner", "FlinkRunner", "SparkRunner", "DataflowRunner")

_ERROR = ".error"


class BeamPool(TaskPool):
    """A `TaskPool` that gives its tasks to Apache Beam.

    Each `run` is one pipeline: the tasks not done yet, spread over the workers. These
    read the corpus and leave runs, shards and results in `folder` by themselves, so
    both must stand on a file system that all of them see under the same path. They need
    this package, SentencePiece and NumPy, but neither TensorFlow nor Keras.

    Args:
        folder, context: As for `TaskPool`.
        runner: str, one of `RUNNERS`.
        options: list of str. Pipeline options as on a command line, such as
            `["--direct_running_mode=multi_processing", "--direct_num_workers=2"]`.

    Raises:
        ImportError: If Apache Beam is not installed.
    """

    def __init__(self, folder, context, runner, options=()):
        self._runner, self._options = runner, list(options)
        self._beam = import_optional("apache_beam", "beam")
        options_module = "apache_beam.options.pipeline_options"
        self._pipeline_options = import_optional(options_module, "beam").PipelineOptions
        super().__init__(folder, num_workers=1, context=context)

    def _run_all(self, function, tasks, files):
        if not files:
            return
        context = self._context
        items = [(tasks[number], str(file)) for number, file in files.items()]

        def work(item):
            task, file = item
            with _noted_error(file):
                run_task(function, context, task, file)

        options = self._pipeline_options(self._options)
        try:
            with self._beam.Pipeline(runner=self._runner, options=options) as pipeline:
                (
                    pipeline
                    | "tasks" >> self._beam.Create(items)
                    # Or a runner may give all tasks to one worker.
                    | "spread" >> self._beam.Reshuffle()
                    | "work" >> self._beam.Map(work)
                )
        except Exception as error:
            # Of a task's error a runner makes another one, of a page of its own lines.
            other = RuntimeError(f"{type(error).__name__}: {error}")
            raise self._take_noted_error() or other from error
        for number, file in files.items():
            yield number, json.loads(file.read_text("utf-8"))

    def _take_noted_error(self):
        files = sorted(self.folder.glob(f"*{_ERROR}"))
        noted = [json.loads(file.read_text("utf-8")) for file in files]
        for file in files:
            file.unlink()
        for kind, *arguments in noted:
            return {"OSError": OSError, "ValueError": ValueError}[kind](*arguments)
        return None


@contextlib.contextmanager
def _noted_error(file):
    """Leaves an error of input or disk beside the file which it keeps from being."""
    try:
        yield
        # Of an attempt that the runner repeated.
        pathlib.Path(f"{file}{_ERROR}").unlink(missing_ok=True)
    except OSError as error:
        _note_error(file, "OSError", error.errno, error.strerror, error.filename)
        raise
    except ValueError as error:
        _note_error(file, "ValueError", str(error))
        raise


def _note_error(file, *content):
    write_json(f"{file}{_ERROR}", content)
