"""Damaged files: cut short, or with a flipped bit."""

import shutil

import numpy as np


def damaged_copies(folder, file_name, tmp_path, num_copies):
    """Yields copies of a folder in which one file is damaged, each in another way.

    Args:
        folder: path of a whole checkpoint.
        file_name: str. The file in it that shall be damaged.
        tmp_path: path where the copies stand.
        num_copies: int. Cuts, and as many flipped bytes; half of the latter lie in the
            first 512 bytes, where formats keep what they say of themselves.
    """
    content = (folder / file_name).read_bytes()
    random = np.random.default_rng(5)
    # A text may end in a new line, which it can do without.
    cuts = np.linspace(0, len(content) - 2, num_copies, dtype=int)
    flips = [
        *random.integers(0, min(512, len(content)), num_copies // 2),
        *random.integers(0, len(content), num_copies - num_copies // 2),
    ]
    damaged = [content[:cut] for cut in cuts]
    for place in flips:
        flipped = bytearray(content)
        flipped[place] ^= 1 << random.integers(0, 8)
        damaged.append(bytes(flipped))
    for i, new_content in enumerate(damaged):
        copy = tmp_path / f"damaged_{i}"
        shutil.copytree(folder, copy, copy_function=shutil.copyfile)
        (copy / file_name).write_bytes(new_content)
        yield copy, "cut" if i < num_copies else "flipped"


def check_damage_is_one_clear_error(load, folder, file_name, tmp_path, num_copies=12):
    """Checks that a damaged file never gives anything but a `ValueError`.

    A flipped bit of a weight is a weight like any other where a format has no checksums,
    so that some of the copies may load.

    Args:
        load: Function of a folder.
        folder: path of a whole checkpoint.
        file_name: str. The file in it to damage.
        tmp_path: path.
        num_copies: int. As for `damaged_copies`; few where another test damages more
            files of the same format.
    """
    messages = {"cut": [], "flipped": []}
    for copy, kind in damaged_copies(folder, file_name, tmp_path, num_copies):
        messages[kind].append(error_of(load, copy))
        shutil.rmtree(copy)
    assert None not in messages["cut"]
    errors = [message for kind in messages.values() for message in kind if message]
    assert all("Received" in message for message in errors)


def error_of(load, path):
    """Returns the message of the clear error that loading gives, or `None`."""
    try:
        load(path)
    except (ValueError, FileNotFoundError) as error:
        return str(error)
    return None
