"""Download from and upload to the Hugging Face hub and Kaggle.

`hf://USER/MODEL` is a repository of the Hugging Face hub, maybe with `@REVISION`;
`kaggle://USER/MODEL/FRAMEWORK/VARIATION` a model of Kaggle, maybe with `/VERSION`. Files
are downloaded once, to the cache of `huggingface_hub` or `kagglehub`.
`HF_HUB_OFFLINE=1` keeps to what is there, of both hubs.
"""

import contextlib
import functools
import os
import pathlib
import re
import sys

HUGGING_FACE, KAGGLE = "hf://", "kaggle://"
# Read here, since huggingface_hub reads it only once, when it is imported.
OFFLINE = "HF_HUB_OFFLINE"

# Of a repository with the weights in several formats, one is downloaded.
# In sentence-transformers' repositories dense modules may have weights in another one.
_SMALL_FILES = ["*.json", "*.txt", "*.model", "*.spm", "assets/*", "*_Dense/*"]
# Those of Flax cannot be read, and the error says how to convert them.
_WEIGHTS = [
    *("*.weights.h5", "*.safetensors", "pytorch_model*.bin", "tf_model*.h5"),
    "*.msgpack",
]
# Files that belong to certain weights, and mislead beside others.
_OF_WEIGHTS = ["task.json", "*.weights.json", "*.index.json"]


def is_address(path):
    """Returns whether a path is an address of a hub."""
    return str(path).startswith((HUGGING_FACE, KAGGLE))


@functools.cache
def download(address):
    """Returns the folder of the files at an address, from the cache if they are there.

    Raises:
        ImportError: If the package that downloads is absent.
        ConnectionError: If the files are not in the cache and cannot be downloaded.
        ValueError: If the address is malformed.
    """
    rule = "The address must be of files that can be downloaded or are in the cache."
    with _one_error(address, rule):
        if address.startswith(KAGGLE):
            return _from_kaggle(address)
        return _from_hugging_face(address)


def upload(folder, address):
    """Writes the files of a folder to an address.

    The repository or model is made if it does not exist, but not the `@REVISION`. Of
    what is there, files of other names stay; but weights replace all weights.

    Raises:
        ImportError: If the package that uploads is absent.
        ConnectionError: If the upload fails, as without a token or network.
        ValueError: If the address is malformed.
    """
    rule = (
        "The address must be of a model that this user may write: `hf auth login`, or "
        "`kagglehub.login()`."
    )
    with _one_error(address, rule):
        if _is_offline():
            raise ConnectionError("nothing is uploaded")
        if address.startswith(KAGGLE):
            _to_kaggle(folder, address)
        else:
            _to_hugging_face(folder, address)
    # The cache may hold the old files.
    download.cache_clear()


@contextlib.contextmanager
def _one_error(address, rule):
    """Turns the exceptions of the hubs' packages into one with a rule."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"Hubs need the extra `hub`. Received: {address!r} without {error.name}. "
            'Install it: pip install "albert_keras[hub]".'
        ) from error
    except ValueError:
        raise
    # The libraries' errors of network and server have no class in common.
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        offline = f" with {OFFLINE}={os.environ[OFFLINE]}" if _is_offline() else ""
        raise ConnectionError(
            f"{rule} Received: {address!r}{offline}. {type(error).__name__}: {reason}"
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
        # Weights of another format would be found before the new ones.
        delete_patterns=[*_WEIGHTS, *_OF_WEIGHTS] if has_weights else None,
    )


def _parse(address):
    """Returns the repository and the revision, or `None`, of Hugging Face's address."""
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


def _to_kaggle(folder, address):
    with _kaggle() as kagglehub:
        kagglehub.model_upload(address.removeprefix(KAGGLE), str(folder))


@contextlib.contextmanager
def _kaggle():
    """Yields the package, without its messages on standard output: it is for results."""
    os.environ.setdefault("KAGGLEHUB_VERBOSITY", "warning")
    import kagglehub

    with contextlib.redirect_stdout(sys.stderr):
        yield kagglehub


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
