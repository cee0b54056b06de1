"""Pretrained models in the package, which load by name without a network."""

import os
import pathlib

# A link to the top-level folder in a checkout; a folder in a wheel.
FOLDER = pathlib.Path(__file__).parents[1] / "saved_models"

# Name, description and number of weights. `PRESETS` has the size of each by its name.
_KIND = "layer uncased English ALBERT, pretrained on Wikipedia articles,"
_SHIPPED = (
    ("albert_nano_en", f"3-{_KIND} books and speeches.", 1_255_680),
    ("albert_mini_en", f"3-{_KIND} textbooks, books and public documents.", 1_978_624),
)
DESCRIPTIONS = {
    name: {"description": description, "params": num_weights, "path": "albert"}
    for name, description, num_weights in _SHIPPED
}
SHIPPED_MODELS = {
    name: about for name, about in DESCRIPTIONS.items() if (FOLDER / name).is_dir()
}


def find_preset(preset):
    """Returns the folder of a shipped model for its name, and any other value unchanged.

    An existing path with the name takes precedence.
    """
    is_name = str(preset) in SHIPPED_MODELS and not os.path.exists(preset)
    return FOLDER / preset if is_name else preset
