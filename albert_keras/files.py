"""Atomic writes of files and folders, and folders claimed by one process."""

import contextlib
import json
import os
import pathlib
import shutil


@contextlib.contextmanager
def atomic_path(path):
    """Yields a temporary path beside `path` and renames it on success.

    A reader never sees a half-written file: on any error the temporary file is removed
    and what stood at `path` before stays as it was.

    Args:
        path: str or path. Where the finished file shall stand; its folder is made.

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
    # The suffix stays last: Keras and NumPy read the format from it.
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_json(path):
    """Returns the object that a JSON file holds.

    Args:
        path: str or path.

    Raises:
        ValueError: If it holds anything else.
    """
    try:
        content = json.loads(pathlib.Path(path).read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"A file must be JSON. Received: '{path}': {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"A file must hold a JSON object. Received: '{path}'.")
    return content


def write_json(path, content):
    """Writes what JSON can hold to a file, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


@contextlib.contextmanager
def atomic_folder(path):
    """Yields a temporary folder beside `path` and renames it on success.

    An older folder at `path` is replaced only once the new one is complete, and stands
    there again if that fails. `check_replaceable_folder` first protects other folders.

    Args:
        path: str or path. Where the finished folder shall stand.
    """
    # What is replaced is the folder that a link points to, not the link.
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
    # Last, when the new folder can no longer be lost.
    if old.exists():
        shutil.rmtree(old)


def check_replaceable_folder(path, marker):
    """Checks that writing a folder to `path` would replace nothing of another kind.

    Args:
        path: str or path.
        marker: str. Name of the file by which a folder of this kind is known.

    Raises:
        ValueError: If `path` is a file, or a folder with files but not `marker`.
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
    """Locks a folder for this process until the context, or the process, ends.

    The operating system holds the lock, and releases it even if the process is killed.

    Args:
        path: str or path. Folder, made if absent. It gets an empty file `.lock`.

    Raises:
        BlockingIOError: If this or another process holds the lock.
    """
    # Preparing data needs other functions of this module and the standard library.
    import filelock

    path = pathlib.Path(path)
    path.mkdir(parents=True, exist_ok=True)
    try:
        claim = filelock.FileLock(path / ".lock").acquire(blocking=False)
    except filelock.Timeout as error:
        raise BlockingIOError(
            "Only one process may write to a folder at a time. "
            f"Received: '{path}', which another process is using. "
            "Wait until it ends, or choose another folder."
        ) from error
    with claim:
        yield
