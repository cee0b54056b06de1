"""Loading of this package's presets, checked before Keras allocates memory."""

import dataclasses
import pathlib

from albert_keras.config import AlbertConfig
from albert_keras.converters import stored_tensors
from albert_keras.converters.hdf5_file import read_keras_weights
from albert_keras.models import HEADS, AlbertBackbone
from albert_keras.presets.preset_files import (
    is_quantized,
    loads_preset,
    parts_of,
    read_object,
)


def load_own_preset(model_class, folder, load_weights, options):
    """Returns a model of a class, a `LoadsByName`, from the folder of a preset.

    `options`, a dict, are arguments of the class that replace saved ones.
    """
    check_own_preset(folder, model_class, load_weights)
    with loads_preset(folder):
        return model_class.from_own_preset(str(folder), load_weights, **options)


def check_own_preset(folder, model_class, load_weights=True):
    """Checks that the files of a preset fit each other, and hold finite weights.

    Args:
        folder: str or path.
        model_class: Class to load. An `AlbertBackbone` needs no `task.json`.
        load_weights: bool. `False` skips the comparison of sizes.

    Raises:
        ValueError: If a file is damaged, a config describes more weights than the files
            hold, or `task.json` another backbone than `config.json`.
    """
    folder = pathlib.Path(folder)
    content = read_object(folder, "config.json")
    config = _albert_config(content)
    has_integers = is_quantized(content["config"].get("dtype"))
    if load_weights:
        tensors = _read_weights(folder.glob("model*.weights.h5"), has_integers)
        stored_tensors.check_config_sizes(config, tensors, folder)
    is_backbone = issubclass(model_class, AlbertBackbone)
    if is_backbone or not (folder / "task.json").is_file():
        return
    task = read_object(folder, "task.json")
    for key, part in parts_of(task):
        if key == "backbone" and _albert_config(part) != config:
            raise ValueError(
                "The backbones of `task.json` and `config.json` must be the same. "
                f"Received: '{folder}', where they differ. Save the preset again."
            )
    if load_weights:
        tensors = _read_weights(folder.glob("task.weights.h5"), has_integers)
        _check_num_classes(task["config"], tensors, folder)


def config_of_preset(folder):
    """Returns the `AlbertConfig` of a preset."""
    return _albert_config(read_object(folder, "config.json"))


def _albert_config(content):
    """Returns the `AlbertConfig` of a serialized backbone."""
    names = {field.name for field in dataclasses.fields(AlbertConfig)}
    values = {n: value for n, value in content["config"].items() if n in names}
    return AlbertConfig.from_dict(values)


def _read_weights(files, has_integers):
    """Checks the tensors of files; returns their `StoredTensors` without values."""
    shapes = {}
    for file in files:
        found = read_keras_weights(file, has_integers).shapes
        shapes |= {f"{file.name}/{path}": shape for path, shape in found.items()}
    return stored_tensors.StoredTensors(shapes, read=None)


def _check_num_classes(config, tensors, folder):
    """Checks that a head has a bias for each of the classes that its config states."""
    arguments = {spec.class_argument for spec in HEADS.values()} - {None}
    if config.get("dense_dim") is not None:
        arguments.add("dense_dim")
    for name in arguments & config.keys():
        stored_tensors.check_bias(name, config[name], tensors, folder)
