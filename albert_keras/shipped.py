"""Pretrained models that come with the package, loaded by name and offline."""

import os
import pathlib

# In a checkout a link to the top-level folder of this name; in a wheel its files.
FOLDER = pathlib.Path(__file__).parent / "saved_models"

# keras-hub's metadata of a preset, by name. The size of each is in `PRESETS` under the
# same name.
_DESCRIPTIONS = {
    "albert_nano_en": {
        "description": (
            "3-layer uncased English ALBERT, pretrained on Wikipedia articles, books "
            "and speeches."
        ),
        "params": 1_255_680,
        "path": "albert",
    },
}
SHIPPED_MODELS = {
    name: about for name, about in _DESCRIPTIONS.items() if (FOLDER / name).is_dir()
}


def find_preset(preset):
    """Returns the folder of a shipped model for its name, any other value unchanged.

    An existing path of that name, such as a run, takes precedence.
    """
    is_name = str(preset) in SHIPPED_MODELS and not os.path.exists(preset)
    return FOLDER / preset if is_name else preset


def check_preset(preset):
    """Returns a folder or an address from which keras-hub can load a preset, as str.

    Args:
        preset: str or path. A shipped model's name, a folder, or an address such as
            `hf://user/model`.

    Raises:
        ValueError: If `preset` is unknown; the message lists the names.
    """
    found = str(find_preset(preset))
    if "://" not in found and not os.path.isdir(found):
        raise ValueError(
            "`preset` must be the name of a shipped model "
            f"({', '.join(SHIPPED_MODELS)}), a folder, or an address such as "
            f"hf://user/model. Received: preset={found!r}. Random weights of a "
            "published shape: `AlbertBackbone.from_config_preset`."
        )
    return found


class LoadsShippedModels:
    """Mixin of keras-hub's models: `from_preset` takes the names of shipped models."""

    class _Presets:
        def __get__(self, instance, owner):
            return {name: {"metadata": about} for name, about in SHIPPED_MODELS.items()}

    # keras-hub's public attribute with the known names.
    presets = _Presets()

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a model from a preset; see `keras_hub.models.Backbone.from_preset`.

        Args:
            preset: str or path. As for `check_preset`.
            load_weights: bool. `False` gives random weights of the preset's shape.
            **kwargs: Arguments of the class that replace saved ones.

        Raises:
            ValueError: If the preset is unknown; the message lists the names.
        """
        return super().from_preset(check_preset(preset), load_weights, **kwargs)
