"""Checkpoints by name: shipped, published, or at an address of a hub.

`hf://USER/MODEL` is a repository of the Hugging Face hub, maybe with `@REVISION`;
`kaggle://...` a model of Kaggle. Their files are downloaded once, to the cache of
`huggingface_hub` or `kagglehub`. `HF_HUB_OFFLINE=1` keeps to what is there, of both hubs.
"""

import contextlib
import functools
import hashlib
import os
import pathlib
import re
import sys

from albert_keras.preset_files import is_own
from albert_keras.shipped import SHIPPED_MODELS, find_preset

HUGGING_FACE, KAGGLE = "hf://", "kaggle://"
# Read here, since huggingface_hub reads it only once, when it is imported.
OFFLINE = "HF_HUB_OFFLINE"

# https://huggingface.co/albert holds what Google published.
_PUBLISHED = {
    f"albert_{size}_{version}": f"{HUGGING_FACE}albert/albert-{size}-{version}"
    for version in ("v1", "v2")
    for size in ("base", "large", "xlarge", "xxlarge")
}
# https://keras.io/keras_hub/presets/
_OF_KERAS_HUB = {
    f"albert_{size}_en_uncased": f"{KAGGLE}keras/albert/keras/albert_{size}_en_uncased"
    for size in ("base", "large", "extra_large", "extra_extra_large")
}
ADDRESSES = {**_PUBLISHED, **_OF_KERAS_HUB}

# Of a repository with the weights in several formats, one is downloaded.
_SMALL_FILES = ["*.json", "*.txt", "*.model", "*.spm", "assets/*"]
_WEIGHTS = ["*.weights.h5", "*.safetensors", "pytorch_model*.bin", "tf_model.h5"]


def local_files(path):
    """Returns the path of a checkpoint's files, downloaded if they are at an address.

    Args:
        path: str or path. A path, which is returned unchanged; the name of a shipped
            model or one of `ADDRESSES`, if there is no such path; or an address.

    Raises:
        ImportError: If the package that downloads is absent.
        ConnectionError: If the files are not in the cache and cannot be downloaded.
        ValueError: If the address is malformed, or a downloaded file damaged.

    Example:

    ```python
    local_files("hf://albert/albert-base-v2")
    ```
    """
    if not os.path.exists(path):
        path = ADDRESSES.get(str(path), path)
    if is_address(path):
        return _download(str(path))
    return find_preset(path)


def is_address(path):
    """Returns whether a path is an address of a hub."""
    return str(path).startswith((HUGGING_FACE, KAGGLE))


def known_names():
    """Returns the names that `local_files` knows, for messages."""
    return ", ".join((*SHIPPED_MODELS, *ADDRESSES))


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
            f"hf://USER/MODEL. Received: preset={folder!r}. Random weights of a "
            "published shape: `AlbertBackbone.from_config_preset`."
        )
    return folder


class LoadsByName:
    """Mixin of keras-hub's models: `from_preset` takes names and addresses too."""

    class _Presets:
        def __get__(self, instance, owner):
            return {name: {"metadata": about} for name, about in SHIPPED_MODELS.items()}

    # keras-hub's public attribute with the known names.
    presets = _Presets()

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a model from a preset, or from a checkpoint of another library.

        Args:
            preset: str or path. A folder of a preset, or of files that `load_checkpoint`
                reads; a name such as `albert_base_v2`; or an address such as
                `hf://USER/MODEL`. See `albert_keras.hub.local_files`.
            load_weights: bool. `False` gives random weights of the preset's shape.
            **kwargs: Arguments of the class that replace saved ones; for checkpoints of
                other libraries only `num_classes` and `dtype`. With another number of
                classes than that of the files the head is new.

        Raises:
            ValueError: If the preset is unknown; the message lists the names.
        """
        folder = check_preset(preset)
        if is_own(folder):
            return cls.from_own_preset(folder, load_weights, **kwargs)
        return _convert(cls, folder, load_weights, kwargs)

    @classmethod
    def from_own_preset(cls, folder, load_weights, **kwargs):
        """Loads a model from the folder of a preset of this package."""
        return super().from_preset(folder, load_weights, **kwargs)


def _convert(cls, folder, load_weights, options):
    # Imported here, since converters are made of models.
    from albert_keras.converters import load_checkpoint
    from albert_keras.converters.architecture import with_new_weights
    from albert_keras.converters.heads import head_of

    unknown = options.keys() - {"num_classes", "dtype"}
    if unknown:
        raise ValueError(
            "Of a checkpoint of another library, `from_preset` takes `num_classes` and "
            f"`dtype`. Received: {', '.join(sorted(unknown))} for '{folder}'. `convert` "
            "it to a preset first."
        )
    model = load_checkpoint(folder, head=head_of(cls), **options)
    return model if load_weights else with_new_weights(model)


@functools.cache
def _download(address):
    download = _from_hugging_face if address.startswith(HUGGING_FACE) else _from_kaggle
    try:
        return download(address)
    except ImportError as error:
        raise ImportError(
            "Downloading needs the package of the hub. "
            f"Received: {address!r} without {error.name}. "
            'Install it: pip install "albert_keras[hub]".'
        ) from error
    except ValueError:
        raise
    # The libraries' errors of network and server have no class in common.
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        offline = f" with {OFFLINE}={os.environ[OFFLINE]}" if _is_offline() else ""
        raise ConnectionError(
            "The address must be of files that can be downloaded or are in the cache. "
            f"Received: {address!r}{offline}. {type(error).__name__}: {reason}"
        ) from error


@contextlib.contextmanager
def offline():
    """Keeps this process, and those that it starts, to files that are on this machine."""
    before = os.environ.get(OFFLINE)
    os.environ[OFFLINE] = "1"
    try:
        yield
    finally:
        del os.environ[OFFLINE]
        if before is not None:
            os.environ[OFFLINE] = before


def _is_offline():
    # The values that huggingface_hub takes as true.
    return os.environ.get(OFFLINE, "").upper() in ("1", "ON", "YES", "TRUE")


def _from_hugging_face(address):
    import huggingface_hub

    match = re.fullmatch(
        r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", address[len(HUGGING_FACE) :]
    )
    if match is None:
        raise ValueError(
            "An address of the Hugging Face hub must be hf://USER/MODEL or "
            f"hf://USER/MODEL@REVISION. Received: {address!r}."
        )
    repository, revision = match.groups()
    for weights in _WEIGHTS:
        folder = pathlib.Path(
            huggingface_hub.snapshot_download(
                repository,
                revision=revision,
                allow_patterns=[*_SMALL_FILES, weights],
                local_files_only=_is_offline(),
            )
        )
        if any(folder.glob(weights)):
            break
    for file in folder.rglob("*"):
        if file.is_file():
            _check_hash(file, address)
    return folder


def _check_hash(file, address):
    """Checks a file of Hugging Face's cache, where a file's name is the hub's hash.

    Large files have a SHA-256, others Git's SHA-1. The library compares sizes alone.
    """
    expected = file.resolve().name
    size = file.stat().st_size
    if re.fullmatch("[0-9a-f]{64}", expected):
        digest = hashlib.sha256()
    elif re.fullmatch("[0-9a-f]{40}", expected):
        digest = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    else:
        return
    with open(file, "rb") as content:
        while block := content.read(2**20):
            digest.update(block)
    if digest.hexdigest() != expected:
        # Otherwise the next call would find it in the cache again.
        file.resolve().unlink()
        file.unlink()
        raise ValueError(
            "A downloaded file must have the hash that the hub states. "
            f"Received: {file.name!r} of {address!r}, damaged. It is removed; try again."
        )


def _from_kaggle(address):
    # Standard output is for results.
    os.environ.setdefault("KAGGLEHUB_VERBOSITY", "warning")
    import kagglehub

    handle = address.removeprefix(KAGGLE)
    if _is_offline():
        handle = _newest_in_cache(handle)
    with contextlib.redirect_stdout(sys.stderr):
        return pathlib.Path(kagglehub.model_download(handle))


def _newest_in_cache(handle):
    """Returns a handle with the newest version that kagglehub has downloaded whole."""
    from kagglehub.config import get_cache_folder

    folder = pathlib.Path(get_cache_folder(), "models", handle)
    if folder.with_name(f"{folder.name}.complete").is_file():
        return handle  # It has a version.
    versions = [file.stem for file in folder.glob("*.complete")]
    if not versions:
        raise FileNotFoundError(f"no version of it is in '{folder}'")
    return f"{handle}/{max(map(int, versions))}"
