"""Pretrained models that come with the package, loaded by name and offline."""

import os
import pathlib

# In a checkout a link to the top-level folder of this name; in a wheel its files.
FOLDER = pathlib.Path(__file__).parents[1] / "saved_models"

# keras-hub's metadata of a preset, by name. The size of each is in `PRESETS` under the
# same name.
DESCRIPTIONS = {
    "albert_nano_en": {
        "description": (
            "3-layer uncased English ALBERT, pretrained on Wikipedia articles, books "
            "and speeches."
        ),
        "params": 1_255_680,
        "path": "albert",
    },
    "albert_mini_en": {
        "description": (
            "12-layer uncased English ALBERT, pretrained on Wikipedia articles, "
            "textbooks, books and public documents."
        ),
        "params": 1_978_624,
        "path": "albert",
    },
}
SHIPPED_MODELS = {
    name: about for name, about in DESCRIPTIONS.items() if (FOLDER / name).is_dir()
}


def find_preset(preset):
    """Returns the folder of a shipped model for its name, any other value unchanged.

    An existing path of that name, such as a run, takes precedence.
    """
    is_name = str(preset) in SHIPPED_MODELS and not os.path.exists(preset)
    return FOLDER / preset if is_name else preset
