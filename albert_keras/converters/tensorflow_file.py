"""TensorFlow checkpoints, by name (version 1) or by object (version 2)."""

import glob
import math
import pathlib

import numpy as np

from albert_keras.converters.stored_tensors import StoredTensors, check_size, readable

_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"


def read_tensorflow(prefix):
    """Returns the variables of a checkpoint, a path without `.index`.

    TensorFlow 2 stores variables by object, together with their names in the graph. These
    names are used here.
    """
    import tensorflow as tf

    pattern = f"{glob.escape(prefix.name)}.data-*"
    data_bytes = sum(file.stat().st_size for file in prefix.parent.glob(pattern))
    with readable(prefix):
        # `tf.train.load_checkpoint` would follow a path in a file `checkpoint`.
        reader = tf.compat.v1.train.NewCheckpointReader(str(prefix))
        shapes = reader.get_variable_to_shape_map()
        dtypes = reader.get_variable_to_dtype_map()

    # Strings have size 0.
    sizes = {key: max(dtypes[key].size or 1, 1) for key in shapes}
    num_bytes = sum(math.prod(shape) * sizes[key] for key, shape in shapes.items())
    check_size(num_bytes, data_bytes, prefix)

    def read(key):
        with readable(prefix):
            return reader.get_tensor(key)

    names = {key: key for key in shapes if key != _OBJECT_GRAPH}
    if _OBJECT_GRAPH in shapes:
        full_names = _full_names(read(_OBJECT_GRAPH), prefix)
        names = {key: full_names.get(key, key) for key in names}
    shapes = {key: tuple(shapes[key]) for key in names}
    return StoredTensors(shapes, read).renamed(names)


def write_tensorflow(prefix, arrays):
    """Writes a dict of arrays as a checkpoint by name, as TensorFlow 1's `Saver` does."""
    import tensorflow as tf

    names = sorted(arrays)
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[np.asarray(arrays[name]) for name in names],
    )


def find_prefix(path):
    """Returns the prefix of a checkpoint, given the prefix or its folder, or `None`."""
    if pathlib.Path(f"{path}.index").is_file():
        return pathlib.Path(path)
    path = pathlib.Path(path)
    found = sorted(path.glob("*.index")) if path.is_dir() else []
    if len(found) > 1:
        raise ValueError(
            "A folder with several checkpoints needs the prefix of one of them. "
            f"Received: {path} with {', '.join(p.stem for p in found)}."
        )
    return found[0].with_suffix("") if found else None


def _full_names(serialized_graph, prefix):
    """Returns the graph name of each variable key in a checkpoint by object."""
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    with readable(prefix):
        graph.ParseFromString(serialized_graph)
    return {
        attribute.checkpoint_key: attribute.full_name
        for node in graph.nodes
        for attribute in node.attributes
        if attribute.full_name
    }
