"""Atomic writes of files and folders, and folders claimed by one process."""

import contextlib
import json
import os
import pathlib
import shutil
import tempfile

import filelock

from albert_keras.checks import shown
from albert_keras.system.signals import stopped_afterwards
from albert_keras.system.storage import is_address, to_path, uploaded

# File of a claimed folder.
LOCK = ".lock"

# Names of temporary folders begin with it. They stand beside the target, which a rename
# can only reach on the same file system.
_WORK_PREFIX = ".albert_keras-"


@contextlib.contextmanager
def atomic_path(path):
    """Yields a temporary path of the same name, and renames it to `path` on success.

    Readers never see an incomplete file: on an error the temporary file is removed and
    an older file at `path` is left unchanged. What a killed process leaves beside it is
    for `remove_leftovers`. The folder is created if absent. If `path` is an address, the
    file is uploaded on success.

    Raises:
        ValueError: If `path` is a folder, a device or a pipe.

    Example:

    >>> import pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with atomic_path(f"{folder}/report.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> pathlib.Path(folder, "report.txt").read_text()
    'whole'
    """
    path = to_path(path)
    if is_address(path):
        with uploaded(path) as temporary:
            yield temporary
        return
    check_replaceable_file(path)
    with _work_folder(path.parent) as folder:
        temporary = folder / path.name
        yield temporary
        os.replace(temporary, path)


def check_is_fetched(path):
    """Raises a ValueError for the pointer to a file that Git LFS has not fetched."""
    pointer = b"version https://git-lfs"
    if os.path.isfile(path):
        with open(path, "rb") as file:
            if file.read(len(pointer)) == pointer:
                raise ValueError(
                    "A file must be fetched first, by `git lfs pull`. "
                    f"Received: '{path}', which is the pointer to it."
                )


def read_json(path, encoding="utf-8", errors="strict", kind=dict):
    """Returns the content of a JSON file, an object, or raises a ValueError.

    `kind` is the type of another content, such as `list`.
    """
    try:
        text = to_path(path).read_text(encoding, errors)
        # Editors on Windows put a byte order mark before the first word.
        content = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, LookupError, RecursionError) as error:
        raise ValueError(f"A file must be JSON. Received: '{path}': {error}") from error
    if not isinstance(content, kind):
        name = {dict: "object"}.get(kind, kind.__name__)
        raise ValueError(f"A file must hold a JSON {name}. Received: '{path}'.")
    return content


def write_json(path, content):
    """Writes `content` to a JSON file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


@contextlib.contextmanager
def atomic_folder(path):
    """Yields a temporary folder of the same name, and renames it to `path` on success.

    An older folder at `path` is replaced only when the new one is complete. Between two
    renames there is none; if the process is killed there, both are in a hidden folder
    beside `path`. Call `check_replaceable_folder` first, to protect folders of another
    kind.

    Raises:
        ValueError: If `path` is a file, a device, or the root of the file system.
    """
    # A link stays; the folder that it points to is replaced.
    path = pathlib.Path(path).resolve()
    if not path.name or (path.exists() and not path.is_dir()):
        raise ValueError(
            f"The path must be new or a folder to replace. Received: {shown(str(path))}."
        )
    with _work_folder(path.parent) as folder:
        temporary = folder / path.name
        temporary.mkdir()
        yield temporary
        with stopped_afterwards():
            replaced = path.exists() and path.rename(folder / f"old-{path.name}")
            try:
                temporary.rename(path)
            except OSError:
                if replaced:
                    replaced.rename(path)
                raise


@contextlib.contextmanager
def _work_folder(parent):
    """Yields a new folder in `parent`, which is removed at the end."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=_WORK_PREFIX, dir=parent))
    try:
        with names_path(parent):
            yield folder
    finally:
        with stopped_afterwards():
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def names_path(path):
    """Adds a path to errors of the disk, such as a full one, which name no file."""
    try:
        yield
    except OSError as error:
        if error.strerror and error.filename is None:
            error.filename = str(path)
        raise


def remove_leftovers(folder):
    """Removes what killed processes left in a folder, which this process has claimed.

    Object stores have none of it.
    """
    if not is_address(folder):
        for leftover in pathlib.Path(folder).glob(f"{_WORK_PREFIX}*"):
            shutil.rmtree(leftover, ignore_errors=True)


def check_replaceable_file(path):
    """Raises a ValueError if `path` is a folder, a device or a pipe."""
    path = pathlib.Path(path)
    if path.exists() and not path.is_file():
        raise ValueError(
            "The path must be new or a regular file. "
            f"Received: {shown(str(path))}, a folder, device or pipe."
        )


def check_replaceable_folder(path, marker):
    """Raises a ValueError if `path` is a file, or a folder with files but not `marker`.

    Args:
        path: str or path.
        marker: str. Name of a file that every folder of the kind to be written has.
    """
    path = pathlib.Path(path)
    if path.exists() and not path.is_dir():
        raise ValueError(
            f"`path` must be a folder. Received: path={shown(str(path))}, which is a "
            "file."
        )
    if path.is_dir() and any(path.iterdir()) and not (path / marker).is_file():
        raise ValueError(
            f"`path` must be new, empty, or a folder with {marker} to replace. "
            f"Received: path={shown(str(path))}, which holds other files."
        )


@contextlib.contextmanager
def claimed_folder(path):
    """Locks a folder for this thread until the context, or the process, ends.

    The operating system holds the lock, and releases it even if the process is killed.
    Claims of one thread may be nested. The folder is created if absent, and has an empty
    file `.lock` meanwhile. If it is still empty at the end, a new folder is removed.
    Object stores have no locks: there this does nothing.

    Raises:
        BlockingIOError: If another thread or process holds the lock.
    """
    if is_address(path):
        yield
        return
    path = pathlib.Path(path).resolve()
    new_folders = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(path / LOCK, is_singleton=True)
    try:
        lock.acquire(blocking=False)
    except filelock.Timeout as error:
        raise BlockingIOError(
            f"Only one process may write to a folder at a time. Received: '{path}', "
            "which another process is using. Wait until it ends, or take another folder."
        ) from error
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            # Before the release: afterwards it may be the file of another process.
            with contextlib.suppress(OSError):  # Windows removes no open file.
                (path / LOCK).unlink()
        lock.release()
        with contextlib.suppress(OSError):  # Folders that are not empty stay.
            for folder in new_folders:
                folder.rmdir()
