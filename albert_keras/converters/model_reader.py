"""Models of `from_preset`: from presets of this package, and files of other libraries."""

from albert_keras.config import ATTENTION_FIELDS
from albert_keras.converters.architecture import change_architecture, with_new_weights
from albert_keras.converters.heads import head_of
from albert_keras.converters.loading import load_checkpoint
from albert_keras.converters.own_preset import check_own_preset
from albert_keras.presets.hub import check_preset
from albert_keras.presets.preset_files import is_own, loads_preset


def read_model(cls, preset, load_weights, options):
    """Returns a model of a class; see `LoadsByName.from_preset`, which calls this.

    Args:
        cls: Class of the model, a `LoadsByName`.
        preset, load_weights: As of `from_preset`.
        options: Dict of its other arguments.
    """
    folder = check_preset(preset)
    changes = {n: options.pop(n) for n in ATTENTION_FIELDS if n in options}
    if is_own(folder):
        check_own_preset(folder, cls, load_weights)
        with loads_preset(folder):
            model = cls.from_own_preset(folder, load_weights, **options)
    else:
        model = _convert(cls, folder, load_weights, options)
    return change_architecture(model, **changes) if changes else model


def _convert(cls, folder, load_weights, options):
    unknown = options.keys() - {"num_classes", "dtype", "tokenizer"}
    if unknown:
        raise ValueError(
            "Of a checkpoint of another library, `from_preset` takes `num_classes`, "
            f"`dtype` and `tokenizer`. Received: {', '.join(sorted(unknown))} for "
            f"'{folder}'. `convert` it to a preset first."
        )
    model = load_checkpoint(folder, head=head_of(cls), **options)
    return model if load_weights else with_new_weights(model)
