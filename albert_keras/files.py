"""Writing files and folders so that they are whole or absent."""

import contextlib
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


@contextlib.contextmanager
def atomic_folder(path):
    """Yields a temporary folder beside `path` and renames it on success.

    An older folder at `path` is replaced only once the new one is complete.

    Args:
        path: str or path. Where the finished folder shall stand.
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}.{path.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            shutil.rmtree(path)
        os.replace(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
