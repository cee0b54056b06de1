"""Atomic writes of files and folders, and folders claimed by one process."""

import contextlib
import ctypes
import functools
import json
import os
import pathlib
import shutil
import socket
import tempfile

import filelock

from albert_keras.checks import shown
from albert_keras.signals import stopped_afterwards
from albert_keras.storage import is_address, to_path, uploaded

# File of a claimed folder.
LOCK = ".lock"

# Work folders are named by it and random letters. They stand beside the target, which a
# rename can only reach on the same file system. Others on it may not see this host's
# locks. No name of a host has an "@", so none begins like another one.
_WORK_PREFIX = f".albert_keras-{socket.gethostname()}@"
# Entry of a work folder with the folder that is being replaced.
_REPLACED = "replaced"

# Of renameat2(2).
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextlib.contextmanager
def atomic_path(path):
    """Yields a temporary path of the same name, and renames it to `path` on success.

    Readers never see an incomplete file: on an error the temporary file is removed and
    an older file at `path` is left unchanged; what a killed process leaves is removed by
    the next process of this host that writes beside it. The folder is created if absent.
    If `path` is an address, the file is uploaded on success.

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


def read_json(path, encoding="utf-8", errors="strict"):
    """Returns the object in a JSON file, a dict, or raises a ValueError."""
    try:
        text = to_path(path).read_text(encoding, errors)
        # Editors on Windows put a byte order mark before the first word.
        content = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, LookupError, RecursionError) as error:
        raise ValueError(f"A file must be JSON. Received: '{path}': {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"A file must hold a JSON object. Received: '{path}'.")
    return content


def write_json(path, content):
    """Writes `content` to a JSON file atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


@contextlib.contextmanager
def atomic_folder(path):
    """Yields a temporary folder of the same name, and renames it to `path` on success.

    An older folder at `path` is replaced only when the new one is complete: on Linux by
    one rename, where the file system can exchange two folders. Otherwise it is moved
    aside first; if the process is killed in between, the next process of this host that
    writes beside it restores it. Call `check_replaceable_folder` first, to protect
    folders of another kind.

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
        if not path.exists():
            os.rename(temporary, path)
        elif not _exchange(temporary, path):
            (folder / _REPLACED).mkdir()
            os.rename(path, folder / _REPLACED / path.name)
            os.rename(temporary, path)


@contextlib.contextmanager
def _work_folder(parent):
    """Yields a new folder in `parent`, which only this process sees as its own."""
    parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(parent)
    folder = lock = None
    while lock is None:
        folder = pathlib.Path(tempfile.mkdtemp(prefix=_WORK_PREFIX, dir=parent))
        # None if another process took it for a leftover before it was locked.
        lock = _lock_of(folder)
    try:
        with names_path(parent):
            yield folder
    finally:
        with stopped_afterwards():
            _remove(folder, lock)
            # Here, because its finalizer would swallow a `KeyboardInterrupt`.
            del lock


@contextlib.contextmanager
def names_path(path):
    """Adds a path to errors of the disk, such as a full one, which name no file."""
    try:
        yield
    except OSError as error:
        if error.strerror and error.filename is None:
            error.filename = str(path)
        raise


def remove_leftovers(parent):
    """Removes what killed processes left in a folder; object stores have none of it.

    Every write to the folder begins with it; call it where nothing is left to write.
    """
    if not is_address(parent):
        _remove_leftovers(pathlib.Path(parent).absolute())


# Once in each process: it lists a folder, which may have thousands of files.
@functools.cache
@stopped_afterwards()
def _remove_leftovers(parent):
    for folder in parent.glob(f"{_WORK_PREFIX}*"):
        if folder.is_symlink():
            continue
        with contextlib.suppress(OSError):  # That of another user, for example.
            lock = _lock_of(folder)
            if lock and lock.is_locked:
                _remove(folder, lock)


def _lock_of(folder):
    """Returns the lock of a work folder, or None if it is taken or gone.

    It is acquired, but where the file system has no locks.
    """
    lock = filelock.FileLock(folder / LOCK)
    try:
        lock.acquire(blocking=False)
    # FileExistsError: it went while its existence was checked.
    except (filelock.Timeout, FileNotFoundError, FileExistsError):
        return None
    except (OSError, NotImplementedError):
        # There nobody else can lock it and take it for a leftover, either.
        pass
    return lock


def _remove(folder, lock):
    """Removes a work folder, but restores a folder of which the new one is absent."""
    try:
        for old in (folder / _REPLACED).glob("*"):
            target = folder.parent / old.name
            if not target.exists():
                os.rename(old, target)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        lock.release()
    # Windows removes no open file. Elsewhere it may be the new lock of an owner who made
    # the folder just now, and lost the race for the first one.
    if os.name == "nt":
        with contextlib.suppress(OSError):
            (folder / LOCK).unlink()
            folder.rmdir()


def _exchange(one, other):
    """Exchanges two folders in one step; returns False where that is impossible."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):  # TypeError on Windows.
        return False
    paths = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    return rename(*paths, _RENAME_EXCHANGE) == 0


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
            "Only one process may write to a folder at a time. "
            f"Received: '{path}', which another process is using. "
            "Wait until it ends, or choose another folder."
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
