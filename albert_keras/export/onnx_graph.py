"""Conversion of a function to an ONNX graph, with names of axes and metadata."""

import tensorflow as tf

from albert_keras.checks import import_optional

# From 17 on LayerNormalization is one operation; tf2onnx writes at most 18.
OPSET = 17

# Axes of any size after the batch: of an input, and of the outputs if there is an input.
_INPUT_AXES = {"mask_positions": ("masks",)}
_OUTPUT_AXES = {**_INPUT_AXES, "answer_mask": ("starts", "ends")}


def onnx_model(serve, specs, metadata):
    """Returns the bytes of the ONNX model of a function.

    Args:
        serve: Function of tensors by name that returns a dict of outputs.
        specs: Dict of the inputs' `tf.TensorSpec` by name.
        metadata: Dict from str to str, the `metadata_props`.

    Raises:
        ImportError: If tf2onnx is absent.
    """
    tf2onnx = import_optional("tf2onnx", "onnx")
    helper = import_optional("onnx.helper", "onnx")
    names = sorted(specs)
    signature = [specs[name] for name in names]

    @tf.function(autograph=False, input_signature=signature)
    def by_place(*inputs):
        return serve(**dict(zip(names, inputs, strict=True)))

    options = {"opset": OPSET, "custom_rewriter": [_normalize_in_one]}
    proto, _ = tf2onnx.convert.from_function(by_place, signature, **options)
    _name_axes(proto.graph)
    helper.set_model_props(proto, metadata)
    return proto.SerializeToString(deterministic=True)


def _normalize_in_one(graph, nodes):
    """Replaces Keras' layer normalization, of several operations, by the one of ONNX.

    Keras computes `x * scale + (beta - mean * scale)`, with `scale = gamma *
    rsqrt(variance + epsilon)`. tf2onnx calls this before it replaces TensorFlow's
    operations.
    """
    from tf2onnx.graph_matcher import GraphMatcher
    from tf2onnx.graph_matcher import OpTypePattern as Node

    variance = Node("Mean", None, ["SquaredDifference", "Const"])
    moved = Node("AddV2", None, [variance, Node("Const", "epsilon")])
    scale = Node("Mul", None, [Node("Rsqrt", None, [moved]), Node("Const", "gamma")])
    scaled = Node("Mul", "scaled", ["*", scale])
    shift = Node("AddV2", None, ["Mul", Node("Const", "beta")])
    matcher = GraphMatcher(Node("AddV2", "sum", [scaled, shift]))
    for match in list(matcher.match_ops(nodes)):
        node, gamma, beta = map(match.get_op, ("sum", "gamma", "beta"))
        for weights in (gamma, beta):
            weights.set_tensor_value(weights.get_tensor_value(as_list=False).ravel())
        inputs = [match.get_op("scaled").input[0], gamma.output[0], beta.output[0]]
        kept = {"name": node.name, "outputs": node.output}
        epsilon = match.get_op("epsilon").get_tensor_value()
        graph.remove_node(node.name)
        graph.make_node("LayerNormalization", inputs, {"epsilon": epsilon}, **kept)
    return nodes


def _name_axes(graph):
    """Names the axes of any size, which tf2onnx numbers."""
    ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in graph.input}
    rows = ("choices", "length") if 3 in ranks.values() else ("length",)
    outputs = next((_OUTPUT_AXES[name] for name in _OUTPUT_AXES if name in ranks), rows)
    named = [(value, _INPUT_AXES.get(value.name, rows)) for value in graph.input]
    named += [(value, outputs) for value in graph.output]
    for value, axes in named:
        dims = value.type.tensor_type.shape.dim
        for dim, axis in zip(dims, ("batch", *axes), strict=False):
            if not dim.HasField("dim_value"):
                dim.dim_param = axis
