"""Files of presets: the Keras classes that they name, and checks of them."""

import contextlib

from albert_keras.checks import check_json, shortened, shown
from albert_keras.system.files import read_json

# Registered packages of keras-hub, which was keras-nlp before.
_OF_KERAS_HUB = ("keras_hub>", "keras_nlp>")
# Keras' dtype policies without quantization.
_FLOATING_POLICIES = {"DTypePolicy", "FloatDTypePolicy", "DTypePolicyMap"}


def registered_name(file):
    """Returns the registered name of the class in a file of a preset, or `None`.

    `"config.json"` names the class of the backbone, `"task.json"` that of a model with a
    head, `"tokenizer.json"` that of the tokenizer.
    """
    name = read_json(file).get("registered_name") if file.is_file() else None
    return name if isinstance(name, str) else None


def is_own(file):
    """Returns whether a file of a preset names a class of this package, or a user's.

    Hugging Face's files with these names have no registered class.
    """
    name = registered_name(file)
    return name is not None and not name.startswith(_OF_KERAS_HUB)


def registered_class(file):
    """Returns the registered Keras class in a file of a preset, or `None`."""
    return _class_of({"registered_name": registered_name(file)})


def read_object(file):
    """Returns the class of the Keras object in a file of a preset, and its config.

    Keras builds every object that a config describes, so each part must have a class that
    fits its place.

    Raises:
        ValueError: If the file holds no object, or a class is unknown or does not fit.
    """
    content = read_json(file)
    check_json(content, {"registered_name": str, "config": dict}, file)
    name, config = content["registered_name"], content["config"]
    kind = _class_of(content)
    if kind is None:
        raise ValueError(
            "The class of a preset must be registered with Keras. "
            f"Received: '{file}' of {shown(name)}. Import the module of the class first."
        )
    for key, part in parts_of(config):
        if not _fits(key, part):
            raise ValueError(
                "The parts of a preset must be of registered classes that fit. "
                f"Received: '{file}' with {shortened(f'{key}={part!r}')}."
            )
    return kind, config


def parts_of(value, key=None):
    """Yields the name of the argument, and the dict, of each Keras object in JSON."""
    if isinstance(value, list):
        for item in value:
            yield from parts_of(item, key)
    elif isinstance(value, dict):
        if "class_name" in value:
            yield key, value
        for name, item in value.items():
            yield from parts_of(item, name)


def _fits(key, part):
    """Returns whether an object inside another one has a class that fits its place."""
    import keras
    import keras_hub

    name = part.get("registered_name")
    if name is None:
        return str(part["class_name"]).endswith(("DTypePolicy", "DTypePolicyMap"))
    places = {
        "backbone": keras_hub.models.Backbone,
        "preprocessor": keras_hub.models.Preprocessor,
        "tokenizer": keras_hub.tokenizers.Tokenizer,
    }
    found = _class_of(part)
    if found is None or not isinstance(part.get("config"), dict):
        return False
    # keras-hub's own models are read elsewhere.
    if issubclass(found, keras.Model) and name.startswith(_OF_KERAS_HUB):
        return False
    if key in places:
        return issubclass(found, places[key])
    return not issubclass(found, keras.Model)


def _class_of(content):
    """Returns the registered class of a serialized object, or `None`."""
    import keras

    name = content.get("registered_name")
    found = keras.saving.get_registered_object(name) if isinstance(name, str) else None
    return found if isinstance(found, type) else None


def load_object(file, changes, left_out=()):
    """Returns the Keras object in a file of a preset; see `read_object`.

    Args:
        file: Path.
        changes: Dict of arguments in place of those in the file.
        left_out: Names of arguments that are ignored in the file.
    """
    kind, config = read_object(file)
    config = {name: config[name] for name in config if name not in left_out}
    with loads_preset(file):
        return kind.from_config(config | changes)


@contextlib.contextmanager
def loads_preset(path):
    """Turns exceptions of Keras and keras-hub for a preset into one ValueError."""
    import keras

    try:
        yield
    # Classes may raise any exception for a wrong config.
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        # Errors of the user's distribution of variables over devices.
        if keras.distribution.distribution() is not None:
            raise
        reason = [line for line in str(error).splitlines() if line.strip()][-1:]
        raise ValueError(
            "A preset must hold arguments that its classes take. "
            f"Received: '{path}': {type(error).__name__}: {shortened(''.join(reason))}"
        ) from error


def is_quantized(dtype):
    """Returns whether a serialized dtype policy, or that of a layer, is quantized."""
    names = {str(policy["class_name"]) for _, policy in parts_of(dtype)}
    return bool(names - _FLOATING_POLICIES)
