"""Atomic writes of files and folders, and locks on folders."""

import contextlib
import json
import os
import pathlib
import shutil
import tempfile

import filelock

from albert_keras.checks import shown
from albert_keras.system.storage import is_address, to_path

# Lock file of a claimed folder.
LOCK = ".lock"

# Prefix of the names of temporary folders. They are created beside the target, because
# a rename does not work across file systems.
_WORK_PREFIX = ".albert_keras-"


@contextlib.contextmanager
def atomic_path(path):
    """Yields a temporary path of the same name, and renames it to `path` on success.

    Readers never see an incomplete file: on an error the temporary file is removed and
    an older file at `path` is left unchanged. `remove_leftovers` removes the temporary
    files of killed processes. The parent folder is created if it does not exist. If
    `path` is an address, the file is uploaded on success.

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
        with tempfile.TemporaryDirectory() as folder:
            temporary = pathlib.Path(folder, path.name)
            yield temporary
            path.fs.put_file(temporary, path.path)
        return
    check_replaceable_file(path)
    with _work_folder(path) as temporary:
        yield temporary
        os.replace(temporary, path)


def check_is_fetched(path):
    """Raises a ValueError if a file is a pointer that Git LFS has not fetched."""
    pointer = b"version https://git-lfs"
    if os.path.isfile(path):
        with open(path, "rb") as file:
            if file.read(len(pointer)) == pointer:
                raise ValueError(
                    "A file must be fetched first, by `git lfs pull`. "
                    f"Received: '{path}', which is a Git LFS pointer."
                )


def read_json(path, encoding="utf-8", errors="strict", kind=dict):
    """Returns the content of a JSON file.

    Args:
        path: str or path.
        encoding, errors: str. As for `open`.
        kind: Type of the content. Default dict.

    Raises:
        ValueError: If the file is not JSON, or its content has another type.
    """
    try:
        text = to_path(path).read_text(encoding, errors)
        # Editors on Windows write a byte order mark at the start of the file.
        content = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, LookupError, RecursionError) as error:
        raise ValueError(f"A file must be JSON. Received: '{path}': {error}") from error
    if not isinstance(content, kind):
        name = "object" if kind is dict else "list"
        raise ValueError(f"A file must hold a JSON {name}. Received: '{path}'.")
    return content


def write_json(path, content):
    """Writes `content` to a JSON file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


@contextlib.contextmanager
def atomic_folder(path):
    """Yields a temporary folder of the same name, and renames it to `path` on success.

    An older folder at `path` is replaced only when the new one is complete. The
    replacement takes two renames, and no folder exists between them. If the process is
    killed at that point, a hidden folder beside `path` has both the old and the new
    one. Call `check_replaceable_folder` first, to protect folders of another kind.

    Raises:
        OSError: If `path` is a file, a device, or the root of the file system.
    """
    # A link stays; the folder that it points to is replaced.
    path = pathlib.Path(path).resolve()
    with _work_folder(path) as temporary:
        temporary.mkdir()
        yield temporary
        replaced = path.is_dir() and path.rename(temporary.with_suffix(".old"))
        try:
            temporary.rename(path)
        except BaseException:
            if replaced:
                replaced.rename(path)
            raise


@contextlib.contextmanager
def _work_folder(path):
    """Yields a path of the same name in a temporary folder beside `path`."""
    parent = path.parent
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=_WORK_PREFIX, dir=parent, ignore_cleanup_errors=True
    ) as folder:
        yield pathlib.Path(folder, path.name)


def remove_leftovers(folder):
    """Removes the temporary files of killed processes from a folder.

    This process must have claimed the folder. Object stores have no such files.
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
    """Raises a ValueError unless a folder may be written at `path`.

    Args:
        path: str or path. It must be new, or an empty folder, or contain `marker`.
        marker: str. Name of a file that every folder of the same kind contains.
    """
    path = pathlib.Path(path)
    is_empty = path.is_dir() and not any(path.iterdir())
    if path.exists() and not is_empty and not (path / marker).is_file():
        raise ValueError(
            f"`path` must be new, empty, or a folder with {marker} to replace. "
            f"Received: path={shown(str(path))}, which is a file or holds other files."
        )


@contextlib.contextmanager
def claimed_folder(path):
    """Locks a folder for this thread until the context, or the process, ends.

    The operating system releases the lock even if the process is killed. A thread may
    nest its claims. The folder is created if it does not exist, and contains an empty
    file `.lock` during the claim. A new folder that is still empty at the end is
    removed. Object stores have no locks, so this function does nothing for an address.

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
            # Not after the release, when another process may have created the file.
            (path / LOCK).unlink(missing_ok=True)
        lock.release()
        with contextlib.suppress(OSError):  # Folders with files are kept.
            for folder in new_folders:
                folder.rmdir()
