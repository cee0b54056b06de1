"""Pretrained models that come with the package, loaded by name and offline."""

import os
import pathlib

# In a checkout a link to the top-level folder of this name; in a wheel its files.
FOLDER = pathlib.Path(__file__).parents[1] / "saved_models"

# keras-hub's metadata of a preset, by name. The size of each is in `PRESETS` under the
# same name.
_KIND = "layer uncased English ALBERT, pretrained on Wikipedia articles,"
_SHIPPED = (
    ("albert_nano_en", f"3-{_KIND} books and speeches.", 1_255_680),
    ("albert_mini_en", f"12-{_KIND} textbooks, books and public documents.", 1_978_624),
)
DESCRIPTIONS = {
    name: {"description": description, "params": num_weights, "path": "albert"}
    for name, description, num_weights in _SHIPPED
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
