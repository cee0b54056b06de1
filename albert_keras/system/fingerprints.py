"""Fingerprints of files by their content, fast for files of any size."""

import hashlib
import itertools
import pathlib

from albert_keras.system.storage import open_file, read_range, to_path

# Files up to this size are read completely, in about 0.15 s. From larger files only
# some blocks are read.
WHOLE_BYTES = 2**28
NUM_BLOCKS, BLOCK_BYTES = 64, 2**14


def fingerprint_file(path, whole=False):
    """Returns a str that depends on the content of a file, not on its name or time.

    For a file larger than 256 MiB it depends on the size and on 64 blocks of 16 KiB, at
    equal distances from the start to the end. A change between the blocks that keeps the
    size is not detected, unless `whole` is true.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "corpus.txt")
    >>> _ = path.write_text("It rains.")
    >>> fingerprint_file(path)
    'e8a0244563426513ca50487e47fca848'
    """
    size = to_path(path).stat().st_size
    digest = hashlib.sha256(f"{size} ".encode())
    if whole or size <= WHOLE_BYTES:
        with open_file(path) as file:
            hashlib.file_digest(file, lambda: digest)
    else:
        for number in range(NUM_BLOCKS):
            begin = number * (size - BLOCK_BYTES) // (NUM_BLOCKS - 1)
            digest.update(read_range(path, begin, begin + BLOCK_BYTES))
    return digest.hexdigest()[:32]


def fingerprint_files(paths, whole=False):
    """Returns a list of `[path, fingerprint]` of files, ready for JSON."""
    return [[str(path), fingerprint_file(path, whole)] for path in paths]


def fingerprint_folder(folder, pattern):
    """Returns a str that depends on the contents and relative paths of files in a folder.

    `pattern` selects the files, such as `"*/*.txt"`.
    """
    folder, digest = pathlib.Path(folder), hashlib.sha256()
    for path in sorted(folder.glob(pattern)):
        name = path.relative_to(folder).as_posix()
        digest.update(f"{fingerprint_file(path)} {name}\n".encode())
    return digest.hexdigest()[:32]


def first_change(before, now):
    """Returns the path of the first file whose content changed, or None.

    Both arguments are lists that `fingerprint_files` returned. A new or missing file
    counts as a change; a changed path does not.
    """
    pairs = itertools.zip_longest(before, now, fillvalue=(None, None))
    return next((new[0] or old[0] for old, new in pairs if old[1] != new[1]), None)
