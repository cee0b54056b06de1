"""Fingerprints of files by their content, cheap for files of any size."""

import hashlib
import pathlib

from albert_keras.system.storage import open_file, read_range, to_path

# Files up to this size are read as a whole, in about 0.15 s; of larger ones some blocks.
WHOLE_BYTES = 2**28
NUM_BLOCKS, BLOCK_BYTES = 64, 2**14


def fingerprint_file(path, whole=False):
    """Returns a str that depends on a file's content, not on its name, place or time.

    Of a file larger than 256 MiB it depends on the size and on 64 blocks of 16 KiB: the
    beginning, the end, and blocks between them at even distances. A change that keeps
    the size and lies between the blocks is not seen, unless `whole` is true.

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
    """Returns a list of `[path, fingerprint]`, as JSON holds it, of some files."""
    return [[str(path), fingerprint_file(path, whole)] for path in paths]


def fingerprint_folder(folder, pattern):
    """Returns a str that depends on the files of a folder: contents and relative paths.

    `pattern` says which files count, such as `"*/*.txt"`.
    """
    folder, digest = pathlib.Path(folder), hashlib.sha256()
    for path in sorted(folder.glob(pattern)):
        name = path.relative_to(folder).as_posix()
        digest.update(f"{fingerprint_file(path)} {name}\n".encode())
    return digest.hexdigest()[:32]


def first_change(before, now):
    """Returns the path of the first file whose content changed, or None.

    Both are lists of `fingerprint_files`. A file that is new or missing is a change; a
    path that changed is none.
    """
    for (_, old), (path, new) in zip(before, now, strict=False):
        if old != new:
            return path
    if len(before) == len(now):
        return None
    longer = max(before, now, key=len)
    return longer[min(len(before), len(now))][0]
