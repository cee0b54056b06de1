"""The operations that TensorFlow Serving's own image links.

Its build file `tensorflow_serving/model_servers/BUILD` links those of TensorFlow, and all
of tensorflow-text (`tensorflow_text:ops_lib`).
"""

import functools
import pathlib

import tensorflow as tf
import tensorflow_text


@functools.cache
def linked_operations():
    """Returns the names of these operations, in lower case, in the installed versions."""
    names = {*dir(tf.raw_ops)}
    folder = pathlib.Path(tensorflow_text.__file__).parent / "python" / "ops"
    for library in folder.glob("*.so"):
        functions = dir(tf.load_op_library(str(library)))
        # The functions of `TFText>Name` are `TFText_Name`.
        names |= {name.replace("TFText_", "TFText>") for name in functions}
    return {name.lower() for name in names}


def unlinked_operations(graph):
    """Returns the names of the operations of a `GraphDef` that the image has not."""
    used = {node.op for node in graph.node}
    used |= {node.op for f in graph.library.function for node in f.node_def}
    used -= {f.signature.name for f in graph.library.function}
    assert any(name.startswith("TFText>") for name in used)
    return {name for name in used if name.lower() not in linked_operations()}
