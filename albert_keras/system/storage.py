"""Files on disk and in object stores, by paths of the same methods.

The path of an address such as `s3://bucket/name` is a `upath.UPath`, with the methods of
`pathlib.Path`. In an object store a file is read by ranges, one request each; it exists
when all of it has been uploaded; and a folder is the common beginning of names.
"""

import contextlib
import glob
import io
import os
import pathlib
import shutil
import tempfile

from albert_keras.checks import import_optional

# Packages that fsspec needs for a protocol.
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs"}

# Bytes of one request while a file is read to its end.
_REQUEST_BYTES = 2**21


def is_address(path):
    """Returns whether a path names a file or folder in an object store."""
    return "://" in str(path)


def to_path(path):
    """Returns a `pathlib.Path`, or the `upath.UPath` of an address.

    Raises:
        ImportError: If a package for the address is not installed.
        ValueError: If fsspec does not know the protocol.

    Example:

    >>> to_path("data") / "dataset.json"
    PosixPath('data/dataset.json')
    """
    if not is_address(path):
        return pathlib.Path(path)
    upath = import_optional("upath", "cloud")
    protocol = str(path).partition("://")[0]
    import_optional(_PACKAGES.get(protocol, "fsspec"), "cloud")
    try:
        # A cached listing would lack what other processes write.
        return upath.UPath(str(path).rstrip("/"), use_listings_cache=False)
    except ValueError as error:
        raise ValueError(
            "An address must begin with a protocol of fsspec, such as s3:// or gs://. "
            f"Received: '{path}'."
        ) from error


def absolute(path):
    """Returns an absolute path, or an address as it is, as a str."""
    return str(path) if is_address(path) else os.path.abspath(path)


def find_addresses(pattern):
    """Finds the files of an address, of a folder, or of a glob pattern, by one listing.

    Returns a sorted list of `(address, size)`, str and int.
    """
    path, protocol = to_path(pattern), str(pattern).partition("://")[0]
    find = path.fs.glob if glob.has_magic(path.path) else path.fs.find
    return sorted(
        (f"{protocol}://{name.lstrip('/')}", file["size"])
        for name, file in find(path.path, detail=True).items()
        if file["type"] == "file"
    )


def open_file(path):
    """Opens a file to read bytes."""
    path = to_path(path)
    if not is_address(path):
        return open(path, "rb", buffering=2**20)
    return io.BufferedReader(path.open("rb", cache_type="none"), _REQUEST_BYTES)


def read_range(path, begin, end):
    """Returns the bytes of a file from `begin` to `end`, as far as there are any."""
    path = to_path(path)
    if is_address(path):
        return path.fs.cat_file(path.path, start=begin, end=end) if begin < end else b""
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)


@contextlib.contextmanager
def uploaded(path):
    """Yields a local path, and stores the file at an address on success."""
    with tempfile.TemporaryDirectory() as folder:
        temporary = pathlib.Path(folder, path.name)
        yield temporary
        path.fs.put_file(temporary, path.path)


@contextlib.contextmanager
def downloaded(path):
    """Yields the path of a file; if that is an address, the path of a local copy."""
    if not is_address(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        temporary = pathlib.Path(folder, path.name)
        path.fs.get_file(path.path, temporary)
        yield temporary


def delete_folder(path):
    """Deletes a folder and all that is in it, if it is there."""
    if not is_address(path):
        shutil.rmtree(path, ignore_errors=True)
    elif path.exists():
        path.fs.rm(path.path, recursive=True)
