"""Checkpoint files with the whole state of a training run, complete or absent."""

import errno
import json
import pathlib
import re
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from albert_keras.checks import shortened
from albert_keras.keras_internals import sync_variables
from albert_keras.system.files import atomic_path, remove_leftovers, write_json

_NAME = re.compile(r"step-(\d+)\.npz")
_METRICS, _CONTENT = "metrics/", "content"
# Errors of the disk or the system, which do not mean that a file is damaged.
_NO_DAMAGE = (
    *(errno.EIO, errno.ESTALE),
    *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE),
)


class Checkpoint(NamedTuple):
    """Content of a file besides the variables of model and optimizer.

    `metrics` are the running means inside an epoch, arrays `(replicas, ...)`.
    """

    step: int
    state: dict
    metrics: list


class Best(NamedTuple):
    """The best evaluated step, its value of the metric that is compared, and its loss.

    The loss is None where evaluations give none.
    """

    step: int
    value: float
    loss: float | None = None


class DamagedCheckpointError(ValueError):
    """A checkpoint file does not hold the bytes that were written."""


class CheckpointFolder:
    """The checkpoints of a run: the `keep` newest, and the best.

    `writes` is False in workers that only read the files of their chief.
    """

    def __init__(self, path, keep, writes=True):
        self.path = pathlib.Path(path)
        self.keep = keep
        self.writes = writes

    def files(self):
        """Returns the files, oldest first."""
        found = [p for p in self.path.glob("step-*.npz") if _NAME.fullmatch(p.name)]
        return sorted(found, key=_named_step)

    def file(self, step):
        """Returns the path of the file of a step."""
        return self.path / f"step-{step:08d}.npz"

    def newest_step(self):
        """Returns the step of the newest file, 0 where there is none."""
        return max(map(_named_step, self.files()), default=0)

    def save(self, model, step, state=None, *, best=None, with_metrics=False):
        """Writes the state of a model (see `write_checkpoint`), and deletes old files.

        The file of `best`, a `Best` or None, is kept; `best.json` names it.
        """
        if not self.writes:
            return
        write_checkpoint(self.file(step), model, step, state or {}, with_metrics)
        self.mark_best(best)
        kept = {self.file(best.step)} if best else set()
        for old in self.files()[: -self.keep]:
            if old not in kept:
                old.unlink()

    def mark_best(self, best):
        """Writes the best step to `best.json`, for people."""
        if self.writes and best:
            content = {**best._asdict(), "file": self.file(best.step).name}
            write_json(self.path / "best.json", content)

    def restore(self, model, warn):
        """Loads the newest undamaged file into a model; returns its `Checkpoint`.

        A damaged file is renamed to `damaged-step-*.npz` after a call of `warn` with a
        line of text, and the one before is used. Where there is no file, the step is 0.

        Raises:
            DamagedCheckpointError: If there are files, and all are damaged.
            ValueError: If a file belongs to another model or optimizer.
        """
        if self.writes:
            remove_leftovers(self.path)
        files = self.files()
        damage = None
        for file in reversed(files):
            try:
                return restore_checkpoint(file, model)
            except DamagedCheckpointError as error:
                damage = error
            if file != files[0]:
                warn(f"{damage} The checkpoint before it is used.")
                # It is newer than the files that the run writes next, and must not count.
                if self.writes:
                    file.rename(file.with_name(f"damaged-{file.name}"))
        if damage:
            raise damage
        return Checkpoint(0, {}, [])


def best_of(state):
    """Returns the `Best` in the state of a checkpoint, or None."""
    return Best(**state["best"]) if "best" in state else None


def write_checkpoint(path, model, step, state, with_metrics=False):
    """Writes the state of a model to one file, whole or not at all.

    The state is every variable of the model, its dropout seeds included (which Keras' own
    weight files leave out), every variable of its optimizer, that of the callbacks (a
    dict that JSON can hold), and inside an epoch the running means (`with_metrics`).
    """
    sync_variables(model)
    arrays = named_arrays(model)
    if with_metrics:
        arrays |= {
            f"{_METRICS}{i}": _replica_values(variable)
            for i, variable in enumerate(model.metrics_variables)
        }
    # First, with the names of the others: a damaged table of contents may lose entries.
    content = {"names": list(arrays), "step": step, "state": state}
    content = np.array(json.dumps(content))
    with atomic_path(path) as temporary:
        np.savez(temporary, **{_CONTENT: content, **arrays})


def restore_checkpoint(path, model):
    """Loads the variables in a file into a model and its optimizer; returns `Checkpoint`.

    Raises:
        DamagedCheckpointError: If the file is damaged.
        ValueError: If it belongs to another model or optimizer.
    """
    path = pathlib.Path(path)
    arrays, content = _read(path)
    names = [name for name in arrays if name.startswith(_METRICS)]
    metrics = [arrays.pop(name) for name in names]
    variables = named_variables(model)
    differences = sorted(set(arrays) ^ set(variables)) or [
        name for name, v in variables.items() if arrays[name].shape != tuple(v.shape)
    ]
    if differences:
        raise ValueError(
            "The checkpoint belongs to another model or optimizer. "
            f"Received: {path}, which differs in {', '.join(differences)}."
        )
    for name, variable in variables.items():
        variable.assign(arrays[name])
    step = content.get("step", _named_step(path))
    return Checkpoint(step, content["state"], metrics)


def assign_metrics(model, arrays):
    """Sets the running means of a model to `Checkpoint.metrics`; returns whether it did.

    It does not if there are others, or on another number of replicas.
    """
    variables = [_replica_variables(variable) for variable in model.metrics_variables]
    if not variables or list(map(len, variables)) != list(map(len, arrays)):
        return False
    for replicas, values in zip(variables, arrays, strict=True):
        for variable, value in zip(replicas, values, strict=True):
            variable.assign(value)
    return True


def named_variables(model):
    """Returns the variables of a model and its optimizer by position.

    Keras numbers the layers' names differently for each model that a process builds.
    """
    metrics = {id(v) for v in model.metrics_variables}
    variables = [v for v in model.variables if id(v) not in metrics]
    named = {f"model/{i}/{v.name}": v for i, v in enumerate(variables)}
    slots = {f"optimizer/{i}": v for i, v in enumerate(model.optimizer.variables)}
    return {**named, **slots}


def named_arrays(model):
    """Returns the values of `named_variables`."""
    variables = named_variables(model)
    return {name: ops.convert_to_numpy(v) for name, v in variables.items()}


def _replica_variables(variable):
    # Under TensorFlow's strategies a metric has a sum on each replica. Reading it as one
    # variable would add them up.
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        if isinstance(variable.value, tf.distribute.DistributedValues):
            strategy = variable.value.distribute_strategy
            return strategy.experimental_local_results(variable.value)
    return [variable]


def _replica_values(variable):
    return np.stack([ops.convert_to_numpy(v) for v in _replica_variables(variable)])


def _read(path):
    try:
        # Opened here, since NumPy leaves a damaged file open.
        with path.open("rb") as stream, np.load(stream) as file:
            if any(info.compress_type for info in file.zip.infolist()):
                raise ValueError("its arrays must not be compressed")
            # Reading to the end checks the checksums that a zip file has.
            arrays = {name: file[name] for name in file.files}
        content = json.loads(str(arrays.pop(_CONTENT)))
        if arrays.keys() != set(content["names"]):
            raise ValueError("arrays are missing")
    except Exception as error:  # Damaged bytes can raise anything.
        if isinstance(error, OSError) and error.errno in _NO_DAMAGE:
            raise
        raise DamagedCheckpointError(
            f"A checkpoint file cannot be read. Received: {path} "
            f"({shortened(str(error))})."
        ) from error
    return arrays, content


def _named_step(path):
    return int(_NAME.fullmatch(path.name)[1])
