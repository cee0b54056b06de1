"""Hostile files that were found by hand, each of which must be refused."""

import json
import math
import struct
import zipfile

_GIGABYTE = 2**30


def _edit_json(folder, name, *keys, value):
    """Sets a value of a JSON file; `keys` lead to it."""
    path = folder / name
    tree = inner = json.loads(path.read_text("utf-8"))
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    path.write_text(json.dumps(tree), "utf-8")


def _replace_json(folder, name, value):
    (folder / name).write_text(json.dumps(value) + "\n", "utf-8")


def _fill_hdf5(folder, name="model.weights.h5", value=math.nan):
    """Sets the first data set of an HDF5 file to a value."""
    import h5py

    with h5py.File(folder / name, "r+") as file:
        sets = []
        file.visititems(
            lambda _, found: (
                sets.append(found)
                if isinstance(found, h5py.Dataset) and found.ndim
                else None
            )
        )
        sets[0][...] = value


def _retype_safetensors(folder, name, item_bytes):
    """Writes tensors of another type, whole by the format's rules."""
    path = folder / "model.safetensors"
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    end = 0
    for entry in header.values():
        start, end = end, end + math.prod(entry["shape"]) * item_bytes
        entry.update(dtype=name, data_offsets=[start, end])
    text = json.dumps(header).encode()
    # A byte that is a finite number of every type, and a valid bool.
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"\x01" * end)


def _fill_safetensors(folder, value=math.nan):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    count = (len(content) - 8 - size) // 4
    path.write_bytes(content[: 8 + size] + struct.pack("<f", value) * count)


def _edit_archive(folder, name, member, content=None, pack=zipfile.ZIP_STORED):
    """Writes an archive again, with other content of the member that ends in a name."""
    path = folder / name
    with zipfile.ZipFile(path) as archive:
        start = min(info.header_offset for info in archive.infolist())
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    prefix = path.read_bytes()[:start]
    path.write_bytes(prefix)
    with zipfile.ZipFile(path, "a") as archive:
        for other, data in members.items():
            if not other.endswith(member):
                archive.writestr(other, data)
            else:
                archive.writestr(other, data if content is None else content, pack, 1)


def _add_bomb(folder, name, member, num_bytes):
    """Adds a member of zeros to an archive, a thousandth of its size."""
    with (
        zipfile.ZipFile(
            folder / name, "a", zipfile.ZIP_DEFLATED, compresslevel=1
        ) as zip,
        zip.open(member, "w", force_zip64=True) as file,
    ):
        for _ in range(num_bytes >> 24):
            file.write(bytes(2**24))


def _edit_pickle(folder, pickle, pack=zipfile.ZIP_STORED):
    _edit_archive(folder, "pytorch_model.bin", "data.pkl", pickle, pack)


def _config(name, value):
    return lambda folder: _edit_json(folder, "config.json", "config", name, value=value)


def _json(name, *keys, value):
    return lambda folder: _edit_json(folder, name, *keys, value=value)


def _pickle(content):
    return lambda folder: _edit_pickle(folder, content)


CASES = {
    # === Weights of PyTorch ===
    "pytorch:deep-tuple": _pickle(b"\x80\x02})" + b"\x85" * 200_000 + b"K\x01s."),
    "pytorch:doubling-tuple": _pickle(b"\x80\x02})" + b"2\x86" * 60 + b"K\x01s."),
    "pytorch:lists": _pickle(b"\x80\x02" + b"]" * 59_000 + b"."),
    "pytorch:deflated": lambda folder: _edit_pickle(
        folder, bytes(_GIGABYTE), zipfile.ZIP_DEFLATED
    ),
    "pytorch:executes": _pickle(b"cos\nsystem\n(S'touch executed'\ntR."),
    # === Sizes that the files do not have ===
    "preset:vocabulary_size": _config("vocabulary_size", 40_000_000),
    "preset:max_sequence_length": _config("max_sequence_length", 40_000_000),
    "preset:intermediate_dim": _config("intermediate_dim", 40_000_000),
    "preset:num_segments": _config("num_segments", 40_000_000),
    "preset:num_inner_repetitions": _config("num_inner_repetitions", 3000),
    "preset:num_layers": _config("num_layers", 3_000_000),
    # === Values and types ===
    "preset:nan": _fill_hdf5,
    "preset:infinity": lambda folder: _fill_hdf5(folder, value=math.inf),
    "preset:nan-of-head": lambda folder: _fill_hdf5(folder, "task.weights.h5"),
    "keras_hub:nan": _fill_hdf5,
    "safetensors:nan": _fill_safetensors,
    **{
        f"safetensors:{name}": lambda folder, name=name, size=size: _retype_safetensors(
            folder, name, size
        )
        for name, size in {
            **{"C64": 8, "I64": 8, "I32": 4, "U8": 1, "BOOL": 1},
            **{"F8_E4M3": 1, "F8_E5M2": 1},
        }.items()
    },
    "safetensors:long-key": _json("config.json", "k" * 10**7, value=1),
    # === Archives ===
    "tflite:bomb": lambda folder: _add_bomb(
        folder, "model.tflite", "bomb", 3 * _GIGABYTE
    ),
    "tflite:bomb-of-labels": lambda folder: _edit_archive(
        *(folder, "model.tflite", "labels.txt", bytes(2**28), zipfile.ZIP_DEFLATED)
    ),
    "tflite:few-labels": lambda folder: _edit_archive(
        folder, "model.tflite", "labels.txt", b"one"
    ),
    "pytorch:lzma": lambda folder: _edit_archive(
        folder, "pytorch_model.bin", "data.pkl", pack=zipfile.ZIP_LZMA
    ),
    # === JSON of other types ===
    "tokenizer:dtype": _json("tokenizer.json", "config", "dtype", value=5),
    "tokenizer:key": _json("tokenizer.json", "config", "unknown", value=5),
    "run:config": _json("run.json", "config", value=5),
    "run:version-1": lambda folder: _replace_json(folder, "run.json", {"arguments": 5}),
    "run:task": _json("run.json", "config", "task", value="unknown"),
    "run:recipe": _json("run.json", "recipe", value=5),
    "run:labels": _json("run.json", "labels", value=5),
    "tokens:config": _json("dataset.json", "config", value=5),
    "tokens:shards": _json("dataset.json", "shards", value=5),
    "records:config": _json("dataset.json", "config", value=5),
    "records:shards": _json("dataset.json", "shards", value=5),
    "unfinished:plan": lambda folder: _replace_json(
        folder, "unfinished/arguments.json", []
    ),
}
