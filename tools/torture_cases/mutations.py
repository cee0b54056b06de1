"""Hostile versions of a file: damaged bytes, and damage that keeps its format readable.

Each function takes the content of a file and a `random.Random`, and returns bytes.
"""

import io
import json
import math
import pathlib
import struct
import tempfile
import warnings
import zipfile

BOMB = bytes(2**26)
# Placeholders of values that `json.dumps` cannot write.
DEEP, HUGE = "@deep@", "@huge@"
VALUES = (
    *(None, True, False, -1, 0, 1, 3, 10**7, 2**31, 2**63, 0.5, -0.5, 1e308),
    *(math.nan, math.inf, HUGE, DEEP, "", "x", "x" * 10**6, "\ud800", "\0", "a\nb"),
    *("../../../etc/passwd", "-1", [], [[]], {}, {"class_name": "Lambda"}),
    *([0] * 10**5, {"a": {"a": 1}}, [2**62, 4], [-1], [1] * 99, "F64", "F8_E5M2"),
)
NAMES = ("", "x", "k" * 10**6, "\ud800", "__class__", "a\nb", "config")
LINES = (
    *(b"", b"\t\t\t\t\t", b'"open', b"a\0b", b"\xff\xfe", b"\xef\xbb\xbfx", b"x\r"),
    *(b"word " * 10**5, b"x" * 10**6, "e\u0301\u202e\ufffd".encode() * 99),
    *(b"[" * 10**5, b"null", b"{}", b"1e999"),
)
MEMBERS = ("../evil", "/tmp/evil", "a" * 9999, "x/" * 99)


def damage_bytes(content, random):
    """Cuts, flips, overwrites, inserts or repeats bytes, often near the beginning."""
    if not content:
        return random.randbytes(50)
    size = len(content)
    start = random.randrange(min(size, random.choice([64, 512, 4096, size])))
    end = min(size, start + random.choice([1, 2, 4, 8, 100, size]))
    head, middle, tail = content[:start], content[start:end], content[end:]
    flipped = bytes([middle[0] ^ 1 << random.randrange(8)]) + middle[1:]
    others = [b"", flipped, bytes(end - start), b"\xff" * (end - start)]
    others += [random.randbytes(end - start), middle + random.randbytes(9), 2 * middle]
    damaged = [head + other + tail for other in others]
    damaged += [b"", head, middle + tail, content + content, random.randbytes(size)]
    return random.choice(damaged)


def damage_json(content, random):
    """Replaces, removes or adds a value, or renames a key, anywhere in a JSON object."""
    tree = json.loads(content)
    containers = [x for x in _nodes(tree) if isinstance(x, dict | list) and x]
    container = random.choice(containers)
    is_dict = isinstance(container, dict)
    key = random.choice([*container] if is_dict else range(len(container)))
    value = container[key]
    action = random.choice(["replace", "replace", "replace", "remove", "rename", "add"])
    if action == "remove":
        del container[key]
    elif is_dict and action != "replace":
        if action == "rename":
            del container[key]
        container[random.choice(NAMES)] = value
    elif isinstance(value, int | float) and random.random() < 0.5:
        near = [-value, value + 1, value - 1, value * 1000, value / 3]
        container[key] = random.choice(near)
    else:
        container[key] = random.choice(VALUES)
    text = json.dumps(tree).replace(f'"{DEEP}"', "[" * 10**5 + "]" * 10**5)
    return text.replace(f'"{HUGE}"', "9" * 10**5).encode()


def _nodes(tree):
    yield tree
    if isinstance(tree, dict | list):
        for child in tree.values() if isinstance(tree, dict) else tree:
            yield from _nodes(child)


def damage_lines(content, random):
    """Replaces, extends or changes a line of a text or a table."""
    lines = content.split(b"\n")
    number, other = random.randrange(len(lines)), random.choice(LINES)
    line = lines[number]
    cells = line.replace(b"\t", b",") if b"\t" in line else line.replace(b",", b"\t")
    lines[number] = random.choice([other, other, line + other, other + line, cells])
    return b"\n".join(lines)


def damage_safetensors(content, random):
    """Damages the header of a safetensors file, and states its new size."""
    (size,) = struct.unpack("<Q", content[:8])
    header, data = content[8 : 8 + size], content[8 + size :]
    header = damage_json(header, random)
    return struct.pack("<Q", len(header)) + header + data


def damage_hdf5(content, random):
    """Replaces a data set of an HDF5 file by one of another type, size, value or kind."""
    import h5py
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "file.h5")
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            names = []
            file.visit(names.append)
            names = [name for name in names if isinstance(file[name], h5py.Dataset)]
            name = random.choice(names)
            shape = file[name].shape
            del file[name]
            values = (
                *(np.ones(shape, "int64"), np.ones(shape, "complex64"), "text"),
                *(np.full(shape, math.nan), h5py.Empty("float32"), np.ones(7)),
                *(h5py.SoftLink(f"/{name}"), h5py.ExternalLink("/etc/passwd", "/")),
            )
            # In one case of three it is absent, declared without its data, or a bomb.
            kind = random.randrange(9)
            if kind == 1:
                shape = (10**6,) * max(1, len(shape))
                file.create_dataset(name, shape, "float32", chunks=True)
            elif kind == 2:
                bomb = np.frombuffer(BOMB, "f4")
                file.create_dataset(name, data=bomb, compression="gzip")
            elif kind:
                file[name] = random.choice(values)
        return path.read_bytes()


def damage_zip(content, random):
    """Damages a member of a zip archive; what precedes the archive is kept."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        start = min(info.header_offset for info in archive.infolist())
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    name = random.choice([*members])
    data = members.pop(name)
    damage_member = damage_json if name.endswith(".json") else damage_bytes
    damaged = damage_member(data, random)
    kind, deflated, bzip2 = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2
    written = random.choice(
        [
            [(name, damaged, kind)],
            [(name, data, random.choice([deflated, bzip2, zipfile.ZIP_LZMA]))],
            [(name, BOMB, deflated)],
            [(random.choice(MEMBERS), data, kind)],
            [(name, data, kind), (name, damaged, kind)],
            [],
        ]
    )
    file = io.BytesIO()
    file.write(content[:start])
    with zipfile.ZipFile(file, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of the second one of a name.
        for other, other_data in members.items():
            archive.writestr(other, other_data)
        for member in written:
            archive.writestr(*member, 1)
    return file.getvalue()


# By suffix; others have damaged bytes alone.
STRUCTURED = {
    ".json": damage_json,
    ".safetensors": damage_safetensors,
    ".h5": damage_hdf5,
    **dict.fromkeys((".jsonl", ".csv", ".tsv", ".txt"), damage_lines),
    **dict.fromkeys((".bin", ".keras", ".npz", ".tflite"), damage_zip),
}


def damage(path, random):
    """Damages a file in place."""
    content, structured = path.read_bytes(), STRUCTURED.get(path.suffix)
    if structured is None or random.random() < 0.35:
        structured = damage_bytes
    path.write_bytes(structured(content, random))
