"""Checkpoints by name or address."""

import contextlib
import difflib
import os
import pathlib
import tempfile

from albert_keras.presets import transfer
from albert_keras.presets.shipped import SHIPPED_MODELS, find_preset

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
    """Returns the path of a checkpoint's files, and downloads them if necessary.

    Args:
        path: str or path. The folder of a finished run; the name of a shipped model or
            one of `ADDRESSES`, if there is no such path; or an address. Another path is
            returned unchanged.

    Raises:
        FileNotFoundError: If it is a run that has not finished.
        ImportError: If the package that downloads is absent.
        ConnectionError: If the files are not in the cache and cannot be downloaded.
        ValueError: If the address is malformed.

    Example:

    ```python
    local_files("hf://albert/albert-base-v2")
    ```
    """
    if not os.path.exists(path):
        path = ADDRESSES.get(str(path), path)
    if transfer.is_address(path):
        return transfer.download(str(path))
    return find_preset(model_folder(path))


def model_folder(path):
    """Returns the preset folder of a run, or `path` itself if it is not a run.

    Raises:
        FileNotFoundError: If it is a run that has not finished.
    """
    folder = pathlib.Path(path)
    if not (folder / "run.json").is_file():
        return path
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
    is_name = str(path) in (*SHIPPED_MODELS, *ADDRESSES) or transfer.is_address(path)
    if not (is_name or any(map(os.path.exists, (path, f"{path}.index")))):
        raise FileNotFoundError(
            "A model must be a run, a folder or file of a known kind, a checkpoint of "
            "Google's without .index, an address such as hf://USER/MODEL, or a name "
            f"({known_names()}). Received: '{path}'{like_known(path)}, which does not "
            "exist."
        )


def known_names():
    """Returns the names that `local_files` knows, for messages, with a shell's braces."""
    patterns = (
        f"albert_{_any_of(_SIZES)}_{_any_of(_VERSIONS)}",
        f"albert_{_any_of(_SIZES_OF_KERAS_HUB)}_en_uncased",
    )
    return ", ".join((*SHIPPED_MODELS, *patterns))


def like_known(path):
    """Returns ` (like NAME?)` for a path that is almost a known name, else `""`.

    >>> like_known("albert_nano")
    ' (like albert_nano_en?)'
    """
    names = (*SHIPPED_MODELS, *ADDRESSES)
    close = difflib.get_close_matches(str(path), names, n=1, cutoff=0.8)
    return f" (like {close[0]}?)" if close else ""


def _any_of(words):
    return f"{{{','.join(words)}}}"


def check_preset(preset):
    """Returns the folder of a preset or checkpoint, as str.

    Args:
        preset: str or path. A folder, a name or an address: see `local_files`.

    Raises:
        ValueError: If `preset` is unknown; the message lists the names.
    """
    folder = str(local_files(preset))
    if not os.path.isdir(folder):
        raise ValueError(
            f"`preset` must be a folder, a name ({known_names()}) or an address such as "
            f"hf://USER/MODEL. Received: preset={folder!r}{like_known(folder)}. For "
            "random weights use `AlbertBackbone.from_config_preset`."
        )
    return folder


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
