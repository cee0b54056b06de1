"""The whole state of a training run in one file that is complete or absent."""

import pathlib
import re
import zipfile

import numpy as np
from keras import ops

from albert_keras.files import atomic_path

_NAME = re.compile(r"step-(\d+)\.npz")


def save_checkpoint_file(folder, model, step, keep):
    """Writes the state of `model` at `step` and deletes all but the newest `keep`.

    The state is every variable of the model, the seeds of its dropout included (which
    Keras' own weight files leave out), and of its optimizer.

    Args:
        folder: path. Where the files stand.
        model: Compiled, built Keras model.
        step: int. Number of finished steps.
        keep: int > 0. How many files stay.
    """
    path = pathlib.Path(folder) / f"step-{step:08d}.npz"
    with atomic_path(path) as temporary:
        np.savez(temporary, **_named_arrays(model))
    for old in list_checkpoint_files(folder)[:-keep]:
        old.unlink()


def list_checkpoint_files(folder):
    """Returns the checkpoint files in `folder`, oldest first."""
    return sorted(p for p in pathlib.Path(folder).glob("*.npz") if _NAME.match(p.name))


def restore_checkpoint_file(path, model):
    """Loads the state in `path` into `model` and returns its step.

    Raises:
        ValueError: If the file is damaged, or belongs to another model or optimizer.
    """
    path = pathlib.Path(path)
    variables = _named_variables(model)
    try:
        # Opened here, since NumPy leaves a damaged file open.
        with path.open("rb") as stream, np.load(stream) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"The checkpoint file cannot be read. Received: {path} ({error}). "
            "Delete it to resume from the one before."
        ) from error
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
    return int(_NAME.match(path.name)[1])


def _named_variables(model):
    # By position, and without the layers' names: Keras numbers these anew for each model
    # that a process builds.
    metrics = {id(v) for v in model.metrics_variables}
    variables = [v for v in model.variables if id(v) not in metrics]
    named = {f"model/{i}/{v.name}": v for i, v in enumerate(variables)}
    slots = {f"optimizer/{i}": v for i, v in enumerate(model.optimizer.variables)}
    return {**named, **slots}


def _named_arrays(model):
    variables = _named_variables(model)
    return {name: ops.convert_to_numpy(v) for name, v in variables.items()}
