"""Files on disk and in object stores, with the same path methods for both.

The path of an address such as `s3://bucket/name` is a `upath.UPath`, which has the
methods of `pathlib.Path`. Object stores differ in three ways: each read of a range is one
request; a file exists only after it has been uploaded completely; a folder is a common
prefix of names.
"""

import contextlib
import glob
import io
import os
import pathlib
import shutil
import tempfile

from albert_keras.checks import import_optional


def is_address(path):
    """Returns whether a path names a file or folder in an object store."""
    return "://" in str(path)


def to_path(path):
    """Returns a `pathlib.Path`, or the `upath.UPath` of an address.

    Raises:
        ImportError: If `universal_pathlib` is not installed.
        ValueError: If fsspec does not know the protocol.

    Example:

    >>> to_path("data") / "dataset.json"
    PosixPath('data/dataset.json')
    """
    if not is_address(path):
        return pathlib.Path(path)
    upath = import_optional("upath", "cloud")
    # A cached listing would not show the files that other processes write.
    return upath.UPath(str(path).rstrip("/"), use_listings_cache=False)


def absolute(path):
    """Returns an absolute path as a str; an address is returned unchanged."""
    return str(path) if is_address(path) else os.path.abspath(path)


def find_addresses(pattern):
    """Finds the files of an address, a folder or a glob pattern with one listing.

    Returns:
        Sorted list of `(address, size)`, str and int.
    """
    path, protocol = to_path(pattern), str(pattern).partition("://")[0]
    find = path.fs.glob if glob.has_magic(path.path) else path.fs.find
    return sorted(
        (f"{protocol}://{name.lstrip('/')}", file["size"])
        for name, file in find(path.path, detail=True).items()
        if file["type"] == "file"
    )


def open_file(path):
    """Opens a file for reading bytes."""
    path = to_path(path)
    if not is_address(path):
        return open(path, "rb", buffering=2**20)
    # The buffer is the size of a request. Files of fsspec have no `readline(size)`.
    return io.BufferedReader(path.open("rb", cache_type="none"), 2**21)


def read_range(path, begin, end):
    """Returns the bytes of a file from `begin` to `end`, or to its end."""
    path = to_path(path)
    if is_address(path):
        return path.fs.cat_file(path.path, start=begin, end=end) if begin < end else b""
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)


@contextlib.contextmanager
def downloaded(path):
    """Yields the path of a file, or of a temporary copy if `path` is an address."""
    if not is_address(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        temporary = pathlib.Path(folder, path.name)
        path.fs.get_file(path.path, temporary)
        yield temporary


def delete_folder(path):
    """Deletes a folder with all its files, if it exists."""
    if not is_address(path):
        shutil.rmtree(path, ignore_errors=True)
    elif path.exists():
        path.fs.rm(path.path, recursive=True)
