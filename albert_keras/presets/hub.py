"""Models by name or address: shipped with the package, published, or on a hub."""

import contextlib
import difflib
import os
import pathlib
import tempfile

from albert_keras.presets import transfer

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
# https://huggingface.co/albert has the checkpoints that Google published.
_SIZES, _VERSIONS = ("base", "large", "xlarge", "xxlarge"), ("v1", "v2")
_PUBLISHED = {
    f"albert_{size}_{version}": f"{transfer.HUGGING_FACE}albert/albert-{size}-{version}"
    for version in _VERSIONS
    for size in _SIZES
}
# https://keras.io/keras_hub/presets/
_SIZES_OF_KERAS_HUB = ("base", "large", "extra_large", "extra_extra_large")
_FOLDER_OF_KERAS_HUB = f"{transfer.KAGGLE}keras/albert/keras"
_OF_KERAS_HUB = {
    f"albert_{size}_en_uncased": f"{_FOLDER_OF_KERAS_HUB}/albert_{size}_en_uncased"
    for size in _SIZES_OF_KERAS_HUB
}
ADDRESSES = {**_PUBLISHED, **_OF_KERAS_HUB}


def local_files(path):
    """Returns the path of a model's files, and downloads them if necessary.

    Args:
        path: str or path. A folder, file or checkpoint's prefix; the folder of a finished
            run; an address; or, if there is no such path, the name of a shipped model or
            one of `ADDRESSES`.

    Returns:
        A `pathlib.Path`. For a run it is the folder of its model.

    Raises:
        FileNotFoundError: If `path` is unknown (the message lists the names), or a run
            that has not finished.
        ImportError: If the package that downloads is absent.
        ConnectionError: If the files are not in the cache and cannot be downloaded.
        ValueError: If the address is malformed.

    Example:

    ```python
    local_files("hf://albert/albert-base-v2")
    ```
    """
    check_known(path)
    name = str(path)
    if not _is_there(path):
        if name in SHIPPED_MODELS:
            return FOLDER / name
        return transfer.download(ADDRESSES.get(name, name))
    folder = pathlib.Path(path)
    if not (folder / "run.json").is_file():
        return folder
    if not (folder / "model").is_dir():
        raise FileNotFoundError(
            "A run must have finished before its model can be used. "
            f"Received: '{path}'. Repeat its command to resume it."
        )
    return folder / "model"


@contextlib.contextmanager
def folder_to_write(path):
    """Yields `path`, or for an address a temporary folder that is uploaded at the end.

    Raises the errors of `upload`.
    """
    if not transfer.is_address(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as parent:
        folder = os.path.join(parent, "model")
        yield folder
        transfer.upload(folder, str(path))


def check_known(path):
    """Raises a FileNotFoundError if a path does not exist and is no known name.

    It does not check addresses, and downloads nothing.
    """
    names = (*SHIPPED_MODELS, *ADDRESSES)
    if not (_is_there(path) or str(path) in names or transfer.is_address(path)):
        close = difflib.get_close_matches(str(path), names, n=1, cutoff=0.8)
        like = f" (like {close[0]}?)" if close else ""
        raise FileNotFoundError(
            "A model or tokenizer must be a run, a folder or file of a known kind, a "
            "checkpoint of Google's without .index, an address such as "
            "hf://USER/MODEL, or a name "
            f"({known_names()}). Received: '{path}'{like}, which does not exist."
        )


def _is_there(path):
    """Returns whether a path, or the prefix of a checkpoint of TensorFlow, exists."""
    return any(map(os.path.exists, (path, f"{path}.index")))


def known_names():
    """Returns the names that `local_files` knows, for messages, with a shell's braces."""
    patterns = (
        f"albert_{_any_of(_SIZES)}_{_any_of(_VERSIONS)}",
        f"albert_{_any_of(_SIZES_OF_KERAS_HUB)}_en_uncased",
    )
    return ", ".join((*SHIPPED_MODELS, *patterns))


def _any_of(words):
    return f"{{{','.join(words)}}}"


class SavesByName:
    """Mixin of keras-hub's classes: `save_to_preset` also takes addresses of hubs."""

    def save_to_preset(self, preset_dir, *args, **kwargs):
        """Saves a preset to a folder or to an address of a hub.

        Args:
            preset_dir: str or path. A folder, or an address such as `hf://USER/MODEL`.
                The repository is created if it does not exist. Uploading needs the hub's
                token: `hf auth login`, or Kaggle's.
            *args, **kwargs: Further arguments of keras-hub's method.

        Raises:
            ConnectionError: If the upload fails.
        """
        with folder_to_write(preset_dir) as folder:
            super().save_to_preset(str(folder), *args, **kwargs)
