"""Task pool on Apache Beam, for one machine or a cluster."""

import json
import pickle

from albert_keras.checks import import_optional
from albert_keras.pretraining.workers import TaskPool, run_task
from albert_keras.system.storage import to_path

RUNNERS = ("DirectRunner", "DaskRunner", "FlinkRunner", "SparkRunner", "DataflowRunner")

# Beam has no short name for this runner, which by default gives 128 tasks to a worker.
_DASK = "apache_beam.runners.dask.dask_runner.DaskRunner"


class BeamPool(TaskPool):
    """A `TaskPool` whose tasks run on an Apache Beam runner.

    Each `run` is one pipeline over the tasks. Workers must have the
    corpus and `folder` at the same paths. They need this package, SentencePiece and
    NumPy, and to write TFRecords also TensorFlow. A runner on a cluster gives the tasks
    of a lost worker to another one.

    Args:
        folder, context: As for `TaskPool`.
        runner: str. One of `RUNNERS`.
        options: list of str. Pipeline options, as on a command line, such as
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
        context = self._context
        items = [*zip(tasks, map(str, files), strict=True)]

        def work(item):
            _run_or_write_error(function, context, *item)

        options = self._beam.options.pipeline_options.PipelineOptions(self._options)
        pipeline = self._beam.Pipeline(runner=self._runner, options=options)
        try:
            with pipeline:
                (
                    pipeline
                    | "tasks" >> self._beam.Create(items)
                    # Otherwise a runner may give all tasks to one worker.
                    | "spread" >> self._beam.Reshuffle()
                    | "work" >> self._beam.Map(work)
                )
        except Exception as error:
            # The types and messages of Beam's errors differ between runners.
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        finally:
            # While its client is open, Dask may repeat tasks of lost workers, even after
            # their input was deleted.
            client = getattr(getattr(pipeline, "result", None), "client", None)
            if client is not None:
                client.close()
        error_files = sorted(self.folder.glob("*.error"))
        errors = [pickle.loads(file.read_bytes()) for file in error_files]
        for file in error_files:
            file.unlink()
        for error in errors:
            raise error
        for file in files:
            yield json.loads(file.read_text("utf-8"))


def _run_or_write_error(function, context, task, file):
    """Runs a task; writes a disk or input error to a file, since Beam would wrap it."""
    error_file = to_path(f"{file}.error")
    try:
        run_task(function, context, task, to_path(file))
        # An earlier attempt of the runner may have failed.
        error_file.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        error_file.write_bytes(pickle.dumps(error))
