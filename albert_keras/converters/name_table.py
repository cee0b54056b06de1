"""Tables of variable names, and strict copying of variables by these tables."""

import dataclasses
import math

import keras

from albert_keras.converters.stored_tensors import StoredTensors, as_weight
from albert_keras.system.files import write_json

# Paths of the shared sub-layers in this package; `expand_rows` fills in the numbers.
_ENCODER = "group_{group}_inner_{inner}"
ATTENTION = f"{_ENCODER}/{_ENCODER}_attention"
FEED_FORWARD = f"{_ENCODER}/{_ENCODER}_feed_forward"


@dataclasses.dataclass(frozen=True)
class Row:
    """A variable's name in a source and its path in a model of this package.

    Both may contain `{group}` and `{inner}`; see `expand_rows`. If `transposed`, the
    source stores the matrix with swapped axes.
    """

    source: str
    target: str
    transposed: bool = False


def table_row(source, target):
    """Returns the `Row` of an embedding table, in a tuple."""
    return (Row(source, f"embedding/{target}/embeddings"),)


def dense_rows(source, target, names=("/kernel", "/bias"), transposed=False):
    """Returns a dense layer's `Row`s; the source calls kernel and bias `names`."""
    kernel = Row(source + names[0], f"{target}/kernel", transposed)
    return kernel, Row(source + names[1], f"{target}/bias")


def norm_rows(source, target, names=("/gamma", "/beta")):
    """Returns a layer norm's `Row`s; the source calls scale and shift `names`."""
    scale = Row(source + names[0], f"{target}/gamma")
    return scale, Row(source + names[1], f"{target}/beta")


def expand_rows(rows, albert_config):
    """Expands rows with `{group}` to one for each group and inner repetition.

    The config must have `sharing="all"`, as all published files have.
    """
    num_layers, num_groups = albert_config.num_layers, albert_config.num_groups
    groups = sorted({i * num_groups // num_layers for i in range(num_layers)})
    places = [
        {"group": group, "inner": inner}
        for group in groups
        for inner in range(albert_config.num_inner_repetitions)
    ]
    return [
        Row(row.source.format(**place), row.target.format(**place), row.transposed)
        for row in rows
        for place in (places if "{group}" in row.target else [{}])
    ]


@dataclasses.dataclass(frozen=True)
class Entry:
    """A line of the loading report: one variable in the source and in the model.

    The status is `"loaded"`; `"kept"` for an optional variable that the source lacks;
    `"unused"` for a known variable of another head or of the optimizer; or a problem:
    `"missing"`, `"unexpected"`, `"mis-shaped"`.
    """

    status: str
    source: str | None = None
    source_shape: tuple | None = None
    target: str | None = None
    target_shape: tuple | None = None
    transposed: bool = False

    def __str__(self):
        if self.status == "mis-shaped":
            source_shape = self.source_shape[:: -1 if self.transposed else 1]
            return (
                f"mis-shaped: {self.source} gives {source_shape}, "
                f"{self.target} expects {self.target_shape}"
            )
        if self.status == "unexpected":
            return f"unexpected: {self.source} {self.source_shape}"
        return f"{self.status}: {self.target or self.source}"


PROBLEMS = ("missing", "unexpected", "mis-shaped")


def load_variables(model, tensors, rows, unused=(), optional=(), report=None):
    """Copies finite tensors into the variables of a built model, all or none.

    Args:
        model: Keras model.
        tensors: `StoredTensors`.
        rows: Expanded `Row`s. Rows without a variable in the model have no effect.
        unused: Known names in the source that the model does not use.
        optional: Paths of variables that the source may lack.
        report: Path of a JSON file to write with every `Entry`, or `None`.

    Returns:
        The paths of the optional variables that the source lacks.

    Raises:
        ValueError: If an entry is a problem; the message lists all problems.
    """
    rows = {row.target: row for row in rows if row.source in tensors}
    entries, loaded = [], {}
    for variable in model.weights:
        path, shape = variable.path, tuple(variable.shape)
        row = rows.get(path)
        if row is None:
            status = "kept" if path in optional else "missing"
            entries.append(Entry(status, target=path, target_shape=shape))
            continue
        stored = tensors.shapes[row.source]
        fits = stored[:: -1 if row.transposed else 1] == shape
        status = "loaded" if fits else "mis-shaped"
        entries.append(Entry(status, row.source, stored, path, shape, row.transposed))
        loaded[row.source] = variable, row
    for name, shape in tensors.shapes.items():
        if name not in loaded:
            status = "unused" if name in unused else "unexpected"
            entries.append(Entry(status, name, shape))
    if report is not None:
        write_json(report, [dataclasses.asdict(entry) for entry in entries])
    problems = [entry for entry in entries if entry.status in PROBLEMS]
    problems.sort(key=lambda entry: PROBLEMS.index(entry.status))
    if problems:
        raise ValueError(
            "The checkpoint does not fit the model; nothing was loaded. "
            f"Received {len(problems)} problems:\n  " + "\n  ".join(map(str, problems))
        )
    for name, (variable, row) in loaded.items():
        value = as_weight(name, tensors.read(name), variable.dtype)
        variable.assign(value.T if row.transposed else value)
    return [entry.target for entry in entries if entry.status == "kept"]


def collect_tensors(variables, rows):
    """Returns a dict from a source's names to the values of a model's variables.

    Every variable must have a row. The first of several rows counts.
    """
    first = {row.target: row for row in reversed(rows)}
    unnamed = [variable.path for variable in variables if variable.path not in first]
    if unnamed:
        raise ValueError(
            "Every variable must have a name in the format. Received: "
            f"{', '.join(unnamed)}. If LoRA added them, call the model's `merge_lora`."
        )
    tensors = {}
    for variable in variables:
        value = keras.ops.convert_to_numpy(variable)
        row = first[variable.path]
        tensors[row.source] = value.T if row.transposed else value
    return tensors


def with_merged_heads(tensors, scope):
    """Returns `StoredTensors` in which one axis replaces Keras' axes of heads and sizes.

    `scope` is the name of the attention layer, with a slash on both sides.
    """

    def merged(path, shape):
        # Queries, keys, values: (..., heads, size). The projection: (heads, size, ...).
        _, is_attention, layer = f"/{path}".partition(scope)
        if not is_attention or len(shape) < 2:
            return shape
        if layer == "attention_output/kernel":
            return (math.prod(shape[:-1]), shape[-1])
        return (*shape[:-2], math.prod(shape[-2:]))

    shapes = {path: merged(path, shape) for path, shape in tensors.shapes.items()}
    return StoredTensors(shapes, lambda path: tensors.read(path).reshape(shapes[path]))
