"""Atomic writes of files and folders, and folders claimed by one process."""

import contextlib
import json
import os
import pathlib
import shutil

# File of a claimed folder.
LOCK = ".lock"


@contextlib.contextmanager
def atomic_path(path):
    """Yields a temporary path in the folder of `path`, and renames it on success.

    Readers never see an incomplete file: on an error the temporary file is removed and
    an older file at `path` is left unchanged. The folder is created if absent.

    Example:

    >>> import pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with atomic_path(f"{folder}/report.txt") as temporary:
    ...     _ = temporary.write_text("whole")
    >>> pathlib.Path(folder, "report.txt").read_text()
    'whole'
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Keras and NumPy choose the format by the suffix.
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_json(path, encoding="utf-8", errors="strict"):
    """Returns the object in a JSON file, a dict, or raises a ValueError."""
    try:
        content = json.loads(pathlib.Path(path).read_text(encoding, errors))
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
    """Yields a temporary folder beside `path`, and renames it on success.

    An older folder at `path` is replaced only when the new one is complete, and restored
    if the replacement fails. Call `check_replaceable_folder` first, to protect folders
    of another kind.
    """
    # A link stays; the folder that it points to is replaced.
    path = pathlib.Path(path).resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    old = path.with_name(f".{os.getpid()}.old.{path.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        if path.is_dir():
            shutil.rmtree(old, ignore_errors=True)
            os.replace(path, old)
        os.replace(temporary, path)
    except BaseException:
        if old.exists() and not path.exists():
            os.replace(old, path)
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    # At the end, when an interrupt can no longer lose the new folder.
    if old.exists():
        shutil.rmtree(old)


def check_replaceable_folder(path, marker):
    """Raises a ValueError if `path` is a file, or a folder with files but not `marker`.

    Args:
        path: str or path.
        marker: str. Name of a file that every folder of the kind to be written has.
    """
    path = pathlib.Path(path)
    if path.exists() and not path.is_dir():
        raise ValueError(
            f"`path` must be a folder. Received: path={str(path)!r}, which is a file."
        )
    if path.is_dir() and any(path.iterdir()) and not (path / marker).is_file():
        raise ValueError(
            f"`path` must be new, empty, or a folder with {marker} to replace. "
            f"Received: path={str(path)!r}, which holds other files."
        )


@contextlib.contextmanager
def claimed_folder(path):
    """Locks a folder for this thread until the context, or the process, ends.

    The operating system holds the lock, and releases it even if the process is killed.
    Claims of one thread may be nested. The folder is created if absent, and has an empty
    file `.lock` meanwhile. If it is still empty at the end, a new folder is removed.

    Raises:
        BlockingIOError: If another thread or process holds the lock.
    """
    # Preparing data needs other functions of this module and the standard library.
    import filelock

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
