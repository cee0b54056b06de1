"""Downloads from and uploads to the Hugging Face hub and Kaggle.

`hf://USER/MODEL` is a repository of the Hugging Face hub; `@REVISION` may follow.
`kaggle://USER/MODEL/FRAMEWORK/VARIATION` is a model of Kaggle; `/VERSION` may follow.
Files are downloaded once, to the cache of `huggingface_hub` or `kagglehub`. With
`HF_HUB_OFFLINE=1` only the caches are used, for both hubs.
"""

import contextlib
import functools
import os
import pathlib
import re
import sys

HUGGING_FACE, KAGGLE = "hf://", "kaggle://"
# huggingface_hub itself reads it only once, when it is imported.
OFFLINE = "HF_HUB_OFFLINE"

# Dense modules of sentence-transformers are small, and have a folder each.
_SMALL_FILES = ["*.json", "*.txt", "*.model", "*.spm", "assets/*", "*_Dense/*"]
# Weights are downloaded in the first of these formats that a repository has. Flax's
# cannot be read; the error says how to convert them.
_WEIGHTS = [
    *("*.weights.h5", "*.safetensors", "pytorch_model*.bin", "tf_model*.h5"),
    "*.msgpack",
]
# Files that belong to weights, and would be wrong beside others.
_OF_WEIGHTS = ["task.json", "*.weights.json", "*.index.json"]


def is_address(path):
    """Returns whether a path is an address of a hub."""
    return str(path).startswith((HUGGING_FACE, KAGGLE))


@functools.cache
def download(address):
    """Returns the folder of the files at an address, from the cache if possible.

    Raises:
        ImportError: If the package that downloads is absent.
        ConnectionError: If the files are not in the cache and cannot be downloaded.
        ValueError: If the address is malformed.
    """
    rule = "An address must have files that can be downloaded or are in the cache."
    with _one_error(address, rule):
        if address.startswith(KAGGLE):
            return _from_kaggle(address)
        return _from_hugging_face(address)


def upload(folder, address):
    """Uploads the files of a folder to an address.

    The repository or model is created if it does not exist, but not the `@REVISION`.
    Weights replace all existing weights; other existing files are kept unless a new file
    has the same name.

    Raises:
        ImportError: If the package that uploads is absent.
        ConnectionError: If the upload fails, for example without a token or network.
        ValueError: If the address is malformed.
    """
    rule = (
        "An address must have a model that this user may write: `hf auth login`, or "
        "`kagglehub.login()`."
    )
    with _one_error(address, rule):
        if _is_offline():
            raise ConnectionError("nothing is uploaded")
        if address.startswith(KAGGLE):
            with _kaggle() as kagglehub:
                kagglehub.model_upload(address.removeprefix(KAGGLE), str(folder))
        else:
            _to_hugging_face(folder, address)
    # The cache may hold the old files.
    download.cache_clear()


@contextlib.contextmanager
def _one_error(address, rule):
    """Turns exceptions of the hubs' packages into one that begins with a rule."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"Hubs need the extra `hub`. Received: {address!r} without {error.name}. "
            'Install it: pip install "albert_keras[hub]".'
        ) from error
    except ValueError:
        raise
    # The packages' errors of network and server have no common class.
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        offline = f" with {OFFLINE}={os.environ[OFFLINE]}" if _is_offline() else ""
        raise ConnectionError(
            f"{rule} Received: {address!r}{offline}. {type(error).__name__}: {reason}"
        ) from error


@contextlib.contextmanager
def offline():
    """Lets this process, and processes that it starts, use files on this machine only."""
    before = os.environ.get(OFFLINE)
    os.environ[OFFLINE] = "1"
    try:
        yield
    finally:
        del os.environ[OFFLINE]
        if before is not None:
            os.environ[OFFLINE] = before


def _is_offline():
    # Values that are true for huggingface_hub.
    return os.environ.get(OFFLINE, "").upper() in ("1", "ON", "YES", "TRUE")


def _from_hugging_face(address):
    import huggingface_hub

    repository, revision = _parse(address)
    for weights in _WEIGHTS:
        folder = huggingface_hub.snapshot_download(
            repository,
            revision=revision,
            allow_patterns=[*_SMALL_FILES, weights],
            local_files_only=_is_offline(),
        )
        if any(pathlib.Path(folder).glob(weights)):
            break
    return pathlib.Path(folder)


def _to_hugging_face(folder, address):
    import huggingface_hub

    repository, revision = _parse(address)
    has_weights = any(any(pathlib.Path(folder).glob(weights)) for weights in _WEIGHTS)
    huggingface_hub.create_repo(repository, exist_ok=True)
    huggingface_hub.upload_folder(
        repo_id=repository,
        folder_path=folder,
        revision=revision,
        # Weights of another format could be read in place of the new ones.
        delete_patterns=[*_WEIGHTS, *_OF_WEIGHTS] if has_weights else None,
    )


def _parse(address):
    """Returns repository and revision, or `None`, of an address at Hugging Face."""
    name = address.removeprefix(HUGGING_FACE)
    match = re.fullmatch(r"([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", name)
    if match is None:
        raise ValueError(
            "An address of the Hugging Face hub must be hf://USER/MODEL or "
            f"hf://USER/MODEL@REVISION. Received: {address!r}."
        )
    return match.groups()


def _from_kaggle(address):
    handle = address.removeprefix(KAGGLE)
    with _kaggle() as kagglehub:
        if _is_offline():
            handle = _newest_in_cache(handle)
        return pathlib.Path(kagglehub.model_download(handle))


@contextlib.contextmanager
def _kaggle():
    """Yields the package. Its messages go to standard error, not to standard output."""
    os.environ.setdefault("KAGGLEHUB_VERBOSITY", "warning")
    import kagglehub

    with contextlib.redirect_stdout(sys.stderr):
        yield kagglehub


def _newest_in_cache(handle):
    """Returns a handle with the newest version that kagglehub has in its cache."""
    from kagglehub.config import get_cache_folder

    folder = pathlib.Path(get_cache_folder(), "models", handle)
    if folder.with_name(f"{folder.name}.complete").is_file():
        return handle  # It has a version.
    versions = [file.stem for file in folder.glob("*.complete")]
    if not versions:
        raise FileNotFoundError(f"no version of it is in '{folder}'")
    return f"{handle}/{max(map(int, versions))}"
