"""Steps of the graph that the kinds of text signatures share."""

import tensorflow as tf


def text_input(name, rank=1):
    """Returns the spec of an input of strings, `(batch,)` or `(batch, None)`."""
    return tf.TensorSpec((None,) * rank, tf.string, name)


def require(condition, rule, received):
    """Fails with an InvalidArgumentError that states a rule, unless a condition holds.

    Args:
        condition: Bool tensor.
        rule: str.
        received: Tensor, of which the error shows the first values.
    """
    tf.debugging.Assert(condition, [f"{rule} Received:", received], summarize=3)


def as_features(packed):
    """Returns int32 inputs of a model, a dict of `(batch, length)`."""
    return {name: tf.cast(values, tf.int32) for name, values in packed.items()}


def run_on_any_batch(run, features):
    """Returns the outputs of a model for a batch that may have no rows.

    Some operations of heads fail without rows, so that one is added, and cut off again.
    """
    num_rows = tf.shape(features["token_ids"])[0]
    num_added = tf.cast(tf.equal(num_rows, 0), tf.int32)

    def add_row(values):
        return tf.pad(values, [[0, num_added], *[[0, 0]] * (values.shape.rank - 1)])

    outputs = run(**{name: add_row(values) for name, values in features.items()})
    return {name: values[:num_rows] for name, values in outputs.items()}


# Rows of a part: memory does not grow with the length of texts.
PART_ROWS = 32


def run_in_parts(run, features):
    """Returns the outputs of a model for any number of rows, computed part by part.

    `run` returns a dict of tensors whose axes but the first have the same sizes in each
    part.
    """
    num_rows = tf.shape(features["token_ids"])[0]

    # Traced once, though it is called twice.
    @tf.function(autograph=False)
    def run_part(begin):
        part = {n: values[begin : begin + PART_ROWS] for n, values in features.items()}
        return run_on_any_batch(run, part)

    outputs = run_part(tf.constant(0))
    shapes = {name: [None, *value.shape[1:]] for name, value in outputs.items()}

    def add_part(begin, found):
        part = run_part(begin)
        joined = {name: tf.concat([found[name], part[name]], axis=0) for name in found}
        return begin + PART_ROWS, joined

    _, outputs = tf.while_loop(
        lambda begin, _: begin < num_rows,
        add_part,
        (tf.constant(PART_ROWS), outputs),
        shape_invariants=(
            tf.TensorShape([]),
            {name: tf.TensorShape(shape) for name, shape in shapes.items()},
        ),
    )
    return outputs
