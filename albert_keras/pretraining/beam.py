"""Task pool on Apache Beam, for one machine or a cluster."""

import contextlib
import json

from albert_keras.checks import import_optional
from albert_keras.system.files import write_json
from albert_keras.system.storage import to_path
from albert_keras.system.workers import TaskPool, run_task

RUNNERS = ("DirectRunner", "DaskRunner", "FlinkRunner", "SparkRunner", "DataflowRunner")

# Beam does not know this runner by its name, and by default gives 128 tasks to a worker.
_DASK = "apache_beam.runners.dask.dask_runner.DaskRunner"


class BeamPool(TaskPool):
    """A `TaskPool` whose tasks run on an Apache Beam runner.

    Each `run` is one pipeline over the tasks that are not done yet. Workers must see the
    corpus and `folder` under the same paths. They need this package, SentencePiece and
    NumPy, and TensorFlow where they write TFRecords. A runner on a cluster gives the
    tasks of a lost worker to another.

    Args:
        folder, context: As for `TaskPool`.
        runner: str, one of `RUNNERS`.
        options: list of str. Pipeline options as on a command line, such as
            `["--direct_running_mode=multi_processing", "--direct_num_workers=2"]`, or
            `["--dask_client_address=tcp://10.0.0.1:8786"]` for a Dask cluster.

    Raises:
        ImportError: If Apache Beam is not installed.
    """

    def __init__(self, folder, context, runner, options=()):
        self._runner, self._options = runner, list(options)
        if runner == "DaskRunner":
            self._runner = _DASK
            self._options.insert(0, "--dask_partition_size=1")
            import_optional("distributed", "dask")
        self._beam = import_optional("apache_beam", "beam")
        super().__init__(folder, num_workers=1, context=context)

    def _run_all(self, function, tasks, files):
        if not files:
            return
        context = self._context
        items = [(tasks[number], str(file)) for number, file in files.items()]

        def work(item):
            _run_or_write_error(function, context, *item)

        try:
            with self._pipeline() as pipeline:
                (
                    pipeline
                    | "tasks" >> self._beam.Create(items)
                    # Otherwise a runner may give all tasks to one worker.
                    | "spread" >> self._beam.Reshuffle()
                    | "work" >> self._beam.Map(work)
                )
        except Exception as error:
            # Beam's own type and message differ between runners.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        error_files = sorted(self.folder.glob("*.error"))
        errors = [json.loads(file.read_text("utf-8")) for file in error_files]
        for file in error_files:
            file.unlink()
        for is_of_system, *arguments in errors:
            raise (OSError if is_of_system else ValueError)(*arguments)
        for number, file in files.items():
            yield number, json.loads(file.read_text("utf-8"))

    @contextlib.contextmanager
    def _pipeline(self):
        """Yields a pipeline, and runs it at the end."""
        options = self._beam.options.pipeline_options.PipelineOptions(self._options)
        pipeline = self._beam.Pipeline(runner=self._runner, options=options)
        try:
            with pipeline:
                yield pipeline
        finally:
            # Until its client is closed, Dask repeats tasks of lost workers, whose input
            # a later pipeline may have deleted.
            client = getattr(getattr(pipeline, "result", None), "client", None)
            if client is not None:
                client.close()


def _run_or_write_error(function, context, task, file):
    """Runs a task; writes an error of input or disk to a file, which Beam would wrap."""
    error_file = to_path(f"{file}.error")
    try:
        run_task(function, context, task, file)
        # An earlier attempt of the runner may have failed.
        error_file.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        # Those of object stores have no number.
        has_number = isinstance(error, OSError) and error.errno
        names = ("errno", "strerror", "filename")
        cause = [getattr(error, n) for n in names] if has_number else [str(error)]
        write_json(error_file, [isinstance(error, OSError), *cause])
