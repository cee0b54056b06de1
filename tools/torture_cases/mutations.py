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

# Placeholders of values that `json.dumps` cannot write.
_DEEP, _HUGE = "@deep@", "@huge@"
_BOMB_BYTES = 2**26


def damage_bytes(content, random):
    """Cuts, flips, overwrites, inserts or repeats bytes, often near the beginning."""
    if not content:
        return random.randbytes(50)
    size = len(content)
    near = min(size, random.choice([64, 512, 4096, size]))
    start = random.randrange(near)
    end = min(size, start + random.choice([1, 2, 4, 8, 100, size]))
    flipped = bytes(byte ^ 1 << random.randrange(8) for byte in content[start:end][:8])
    damaged = [
        b"",
        content[:start],
        content[-start:],
        content[:start] + content[end:],
        content[:start] + flipped + content[start + len(flipped) :],
        content[:start] + bytes(end - start) + content[end:],
        content[:start] + b"\xff" * (end - start) + content[end:],
        content[:start] + random.randbytes(end - start) + content[end:],
        content[:start] + random.randbytes(9) + content[start:],
        content[:end] + content[start:],
        content + content,
        random.randbytes(size),
    ]
    return random.choice(damaged)


def damage_json(content, random):
    """Replaces, removes or adds a value, or renames a key, anywhere in a JSON object."""
    tree = json.loads(content)
    containers = [x for x in _nodes(tree) if isinstance(x, dict | list) and x]
    container = random.choice(containers)
    is_dict = isinstance(container, dict)
    key = random.choice([*container] if is_dict else range(len(container)))
    action = random.choice(["replace", "replace", "replace", "remove", "rename", "add"])
    if action == "remove":
        del container[key]
    elif action == "replace" or not is_dict:
        container[key] = _hostile_value(container[key], random)
    else:
        new = random.choice(
            ["", "x", "k" * 10**6, "\ud800", "__class__", "a\nb", "config"]
        )
        value = container.pop(key) if action == "rename" else container[key]
        container[new] = value
    text = json.dumps(tree)
    text = text.replace(f'"{_DEEP}"', "[" * 10**5 + "]" * 10**5)
    return text.replace(f'"{_HUGE}"', "9" * 10**5).encode()


def _nodes(tree):
    yield tree
    if isinstance(tree, dict | list):
        for child in tree.values() if isinstance(tree, dict) else tree:
            yield from _nodes(child)


def _hostile_value(value, random):
    if isinstance(value, int | float) and random.random() < 0.5:
        return random.choice([-value, value + 1, value - 1, value * 1000, value / 3])
    return random.choice(
        [
            *(None, True, False, -1, 0, 1, 3, 10**7, 2**31, 2**63, 0.5, -0.5),
            *(1e308, math.nan, math.inf, _HUGE, _DEEP),
            *(
                "",
                "x",
                "x" * 10**6,
                "\ud800",
                "\0",
                "a\nb",
                "../../../etc/passwd",
                "-1",
            ),
            *([], [[]], {}, {"class_name": "Lambda"}, [0] * 10**5, {"a": {"a": 1}}),
        ]
    )


def damage_lines(content, random):
    """Damages a line of a text or a table: its cells, quotes, encoding or length."""
    lines = content.split(b"\n")
    number = random.randrange(len(lines))
    line = lines[number]
    lines[number] = random.choice(
        [
            b"",
            b"\t\t\t\t\t",
            line + b"\tmore",
            b'"' + line,
            line.replace(b'"', b""),
            line + b"\0" + line,
            b"\xff\xfe" + line,
            b"\xef\xbb\xbf" + line,
            line.upper(),
            line + b"\r",
            line.replace(b"\t", b",") if b"\t" in line else line.replace(b",", b"\t"),
            b"word " * 10**5,
            b"x" * 10**6,
            "e\u0301\u202e\ufffd".encode() * 99,
            b"[" * 10**5,
            b"null",
            b"{}",
            b"1e999",
        ]
    )
    return b"\n".join(lines)


def damage_safetensors(content, random):
    """Damages the header of a safetensors file, or a type or value of its tensors."""
    (size,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    name = random.choice([key for key in header if key != "__metadata__"])
    action = random.choice(["json", "json", "type", "nan", "shape", "size"])
    if action == "nan":
        start, end = header[name]["data_offsets"]
        value = random.choice([math.nan, math.inf, -math.inf])
        data = (
            data[:start] + struct.pack("<f", value) * ((end - start) // 4) + data[end:]
        )
    elif action == "type":
        types = "BOOL U8 I8 I16 I32 I64 F16 BF16 F64 C64 F8_E4M3 F8_E5M2 X F4".split()
        header[name]["dtype"] = random.choice(types)
    elif action == "shape":
        header[name]["shape"] = random.choice(
            [[], [0], [2**62, 4], [-1], [*header[name]["shape"], 1], [1] * 99]
        )
    text = json.dumps(header).encode()
    if action == "json":
        text = damage_json(text, random)
    size = random.choice([0, 2**63, len(text) + 8]) if action == "size" else len(text)
    return struct.pack("<Q", size) + text + data


def damage_hdf5(content, random):
    """Replaces a data set of an HDF5 file by one of another type, size, value or kind."""
    import h5py
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "file.h5")
        path.write_bytes(content)
        with h5py.File(path, "r+") as file:
            names = []
            file.visititems(
                lambda name, found: (
                    names.append(name) if isinstance(found, h5py.Dataset) else None
                )
            )
            name = random.choice(names)
            value = file[name][()]
            del file[name]
            action = random.randrange(10)
            if action == 0:
                file[name] = np.full(np.shape(value), math.nan, "float32")
            elif action == 1:
                kind = random.choice(["int64", "complex64", "bool", "S5", "float16"])
                file[name] = np.ones(np.shape(value), kind)
            elif action == 2:
                # Declared, and not there.
                shape = (10**6,) * max(1, np.ndim(value))
                file.create_dataset(name, shape, "float32", chunks=(100,) * len(shape))
            elif action == 3:
                zeros = np.zeros(_BOMB_BYTES // 4, "float32")
                file.create_dataset(name, data=zeros, compression="gzip")
            elif action == 4:
                file[name] = h5py.SoftLink(f"/{name}")
            elif action == 5:
                file[name] = h5py.ExternalLink("/etc/passwd", "/")
            elif action == 6:
                file[name] = h5py.Empty("float32")
            elif action == 7:
                file[name] = "text"
            elif action == 8:
                file.create_group(name)
            # Else it is absent.
        return path.read_bytes()


def damage_zip(content, random):
    """Damages a member of a zip archive, the archive whole; what precedes it is kept."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        start = min(info.header_offset for info in archive.infolist())
        members = {info: archive.read(info) for info in archive.infolist()}
    info = random.choice([*members])
    kind, name, data = info.compress_type, info.filename, members.pop(info)
    action = random.choice(
        ["bytes", "bytes", "pack", "bomb", "name", "twice", "remove"]
    )
    if action == "bytes":
        is_json = name.endswith(".json") and random.random() < 0.7
        data = (damage_json if is_json else damage_bytes)(data, random)
    elif action == "pack":
        kind = random.choice(
            [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
        )
    elif action == "bomb":
        kind, data = zipfile.ZIP_DEFLATED, bytes(_BOMB_BYTES)
    elif action == "name":
        name = random.choice(["../evil", "/tmp/evil", "a" * 9999, "x/" * 99, "\udcff"])
    file = io.BytesIO()
    file.write(content[:start])
    with zipfile.ZipFile(file, "a") as archive:
        for other, other_data in members.items():
            archive.writestr(other, other_data)
        name = name.encode("utf-8", "replace").decode()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of the second one of a name.
            for _ in range({"twice": 2, "remove": 0}.get(action, 1)):
                archive.writestr(name, data, kind, 1)
    return file.getvalue()


def damage_records(content, random):
    """Damages the payload of a TFRecord file, with checksums that fit."""
    import tensorflow as tf

    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        payloads = [*tf.data.TFRecordDataset(file.name).as_numpy_iterator()]
        number = random.randrange(len(payloads))
        payloads[number] = damage_bytes(payloads[number], random)
        with tf.io.TFRecordWriter(file.name) as writer:
            for payload in payloads:
                writer.write(payload)
        return pathlib.Path(file.name).read_bytes()


# By suffix.
STRUCTURED = {
    ".json": damage_json,
    ".jsonl": damage_lines,
    ".csv": damage_lines,
    ".tsv": damage_lines,
    ".txt": damage_lines,
    ".safetensors": damage_safetensors,
    ".h5": damage_hdf5,
    ".bin": damage_zip,
    ".keras": damage_zip,
    ".npz": damage_zip,
    ".tflite": damage_zip,
    ".tfrecord": damage_records,
}


def damage(path, random):
    """Damages a file in place."""
    content = path.read_bytes()
    structured = STRUCTURED.get(path.suffix)
    if structured is None or random.random() < 0.35:
        path.write_bytes(damage_bytes(content, random))
    else:
        path.write_bytes(structured(content, random))
