"""Rows of a request in groups of similar length, so that little is padding."""

import tensorflow as tf

# Fewer tokens at a time make matrix products slower; a group has one row at least.
TOKENS_OF_A_GROUP = 512


def in_groups(run):
    """Returns a function of a model's inputs that runs it on groups of similar length.

    The rows are sorted by length, and each group is as long as its longest row. The
    order of the outputs is that of the rows, and a batch may have no rows.

    Args:
        run: Concrete function from the model's inputs, tensors `(batch, length)`, to a
            dict of outputs, one for each row: no output may depend on the other rows, or
            have the length as an axis.
    """
    specs = run.structured_outputs

    def run_groups(**inputs):
        lengths = tf.reduce_sum(inputs["padding_mask"], axis=1)
        order = tf.argsort(lengths, direction="DESCENDING", stable=True)
        lengths = tf.gather(lengths, order)
        rows = {name: tf.gather(x, order) for name, x in inputs.items()}
        num_rows = tf.size(lengths)

        def run_next(start, number, arrays):
            longest = tf.maximum(1, tf.reduce_max(lengths[start:]))
            end = start + tf.maximum(1, TOKENS_OF_A_GROUP // longest)
            group = {name: x[start:end, :longest] for name, x in rows.items()}
            outputs = run(**group)
            arrays = {name: arrays[name].write(number, outputs[name]) for name in specs}
            return end, number + 1, arrays

        options = {"size": 0, "dynamic_size": True, "infer_shape": False}
        arrays = {
            name: tf.TensorArray(spec.dtype, element_shape=spec.shape, **options)
            for name, spec in specs.items()
        }
        # Once at least: what no group has written has no shape.
        _, _, arrays = tf.while_loop(
            lambda start, number, arrays: (start < num_rows) | (number == 0),
            run_next,
            (tf.constant(0), tf.constant(0), arrays),
            parallel_iterations=1,
        )
        places = tf.argsort(order)
        return {name: tf.gather(arrays[name].concat(), places) for name in specs}

    return run_groups
