"""Checkpoint files with the whole state of a training, written atomically."""

import errno
import json
import pathlib
import re
from typing import NamedTuple

import numpy as np
from keras import ops

from albert_keras.checks import shortened
from albert_keras.keras_internals import sync_variables
from albert_keras.system.files import atomic_path, remove_leftovers, write_json

_NAME = re.compile(r"step-(\d+)\.npz")
_CONTENT = "content"


class Checkpoint(NamedTuple):
    """Content of a checkpoint file besides the variables of model and optimizer."""

    step: int
    state: dict


class Best(NamedTuple):
    """The best evaluated step, its value of the compared metric, and its loss.

    The loss is `None` if evaluations have no loss.
    """

    step: int
    value: float
    loss: float | None = None


class DamagedCheckpointError(ValueError):
    """A checkpoint file does not contain the bytes that were written."""


class CheckpointFolder:
    """The checkpoints of a training: the `keep` newest ones and the best one.

    `writes` is `False` in workers that only read the files of the chief.
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
        """Returns the step of the newest file, or 0 if there is none."""
        return max(map(_named_step, self.files()), default=0)

    def save(self, model, step, state=None, *, best=None):
        """Writes the state of a model (see `write_checkpoint`) and deletes old files.

        The file of `best`, a `Best` or `None`, is kept, and `best.json` names it for the
        user.
        """
        if not self.writes:
            return
        if best:
            content = {**best._asdict(), "file": self.file(best.step).name}
            write_json(self.path / "best.json", content)
        write_checkpoint(self.file(step), model, step, state or {})
        for old in self.files()[: -self.keep]:
            if not best or old != self.file(best.step):
                old.unlink()

    def restore(self, model, warn):
        """Loads the newest undamaged file into a model.

        A damaged file is renamed to `damaged-step-*.npz`, after a call of `warn` with one
        line of text, and the previous file is used.

        Returns:
            `Checkpoint`. If there is no file, its step is 0.

        Raises:
            DamagedCheckpointError: If all files are damaged.
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
                # The run will write older steps, of which this must not be the newest.
                if self.writes:
                    file.rename(file.with_name(f"damaged-{file.name}"))
        if damage:
            raise damage
        return Checkpoint(0, {})


def best_of(state):
    """Returns the `Best` in the state of a checkpoint, or None."""
    return Best(**state["best"]) if "best" in state else None


def write_checkpoint(path, model, step, state):
    """Writes the state of a model to one file, atomically.

    The state consists of all variables of the model, including dropout seeds (which
    weight files of Keras omit), all variables of its optimizer, and the `state` of
    callbacks (a dict for JSON).
    """
    sync_variables(model)
    arrays = named_arrays(model)
    # The first array names the others, since a damaged directory may lose some of them.
    content = {"names": list(arrays), "step": step, "state": state}
    content = np.array(json.dumps(content))
    with atomic_path(path) as temporary:
        np.savez(temporary, **{_CONTENT: content, **arrays})


def restore_checkpoint(path, model):
    """Loads the variables in a file into a model and its optimizer.

    Returns:
        `Checkpoint`.

    Raises:
        DamagedCheckpointError: If the file is damaged.
        ValueError: If it belongs to another model or optimizer.
    """
    path = pathlib.Path(path)
    arrays, content = _read(path)
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
    return Checkpoint(content["step"], content["state"])


def named_variables(model):
    """Returns the variables of a model and its optimizer, named by position.

    The names that Keras gives to layers depend on the models built before in a process.
    """
    metrics = {id(v) for v in model.metrics_variables}
    variables = [v for v in model.variables if id(v) not in metrics]
    named = {f"model/{i}/{v.name}": v for i, v in enumerate(variables)}
    slots = {f"optimizer/{i}": v for i, v in enumerate(model.optimizer.variables)}
    return {**named, **slots}


def named_arrays(model):
    """Returns the NumPy values of `named_variables`."""
    variables = named_variables(model)
    return {name: ops.convert_to_numpy(v) for name, v in variables.items()}


def _read(path):
    try:
        # Opened here, because NumPy leaves damaged files open.
        with path.open("rb") as stream, np.load(stream) as file:
            if any(info.compress_type for info in file.zip.infolist()):
                raise ValueError("its arrays must not be compressed")
            # Reading an array to its end verifies its checksum in the zip file.
            arrays = {name: file[name] for name in file.files}
        content = json.loads(str(arrays.pop(_CONTENT)))
        if arrays.keys() != set(content["names"]):
            raise ValueError("arrays are missing")
    except Exception as error:  # Damaged bytes can raise anything.
        # An error of the disk or system, except for seeking before the file's start.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise DamagedCheckpointError(
            f"A checkpoint file cannot be read. Received: {path} "
            f"({shortened(str(error))})."
        ) from error
    return arrays, content


def _named_step(path):
    return int(_NAME.fullmatch(path.name)[1])
