"""Early exit on TensorFlow: loops over depth, for inference and for exported models.

`keras.ops.while_loop` has no shape invariants, so that the number of rows could not
change.
"""

import weakref
from functools import partial
from itertools import accumulate, groupby
from typing import Any, NamedTuple

import tensorflow as tf
from keras import ops

from albert_keras.compression.early_exit import ExitRule
from albert_keras.layers import attention_bias

# By model: the compiled loops by what they were compiled for.
_LOOPS = weakref.WeakKeyDictionary()


class _State(NamedTuple):
    """State of the loop. `rows` are the numbers of the unfinished rows."""

    depth: Any  # ()
    rows: Any  # (rows,)
    x: Any  # (rows, length, hidden_dim)
    mask: Any  # (rows, length)
    previous: Any  # (rows, num_classes), logits of the previous depth
    counts: Any  # (rows,)
    logits: Any  # (batch, num_classes)
    exit_depth: Any  # (batch,)


def exit_early(model, rule, features):
    """Returns the `logits` and `exit_depth` of a batch; finished rows are dropped.

    Args:
        model: `AlbertEarlyExitClassifier`.
        rule: `ExitRule`. Threshold and patience may be tensors.
        features: Dict of the model's inputs.
    """
    x, mask = model.backbone.embed(features)
    batch = tf.shape(x)[0]
    rows, counts = tf.range(batch), tf.zeros((batch,), tf.int32)
    zeros = tf.zeros((batch, model.num_classes))
    state = _State(tf.constant(0), rows, x, mask, zeros, counts, zeros, counts)
    weights = model.exit_weights()
    for layer, end in _loops(model):
        step = partial(_step, model, rule, layer, weights)
        state = _repeat(step, state, end, model)
    return {"logits": state.logits, "exit_depth": state.exit_depth}


def exit_early_compiled(model, rule, features):
    """Returns the same as `exit_early`, by a graph that repeated predictions share."""
    shapes = {
        name: tf.TensorSpec([None] * len(array.shape), array.dtype)
        for name, array in features.items()
    }
    # Quantization and LoRA replace or add variables.
    made_for = repr([rule, shapes, [*map(id, model.variables)]])
    loops = _LOOPS.setdefault(model, {})
    if made_for not in loops:
        run = partial(exit_early, weakref.proxy(model), rule)
        loops[made_for] = tf.function(run, input_signature=[shapes], autograph=False)
    return loops[made_for](features)


def exit_together(model, rule, features):
    """Returns the same as `exit_early`, from a loop that ends when all rows are finished.

    Tensors keep their shapes; otherwise LiteRT would not use XNNPACK for the loop.
    """
    logits, exit_depth = _loop_together(model, rule, features)
    chosen = tf.one_hot(exit_depth - 1, model.backbone.num_layers, True, False)
    logits = tf.reduce_sum(tf.where(chosen[:, :, tf.newaxis], logits, 0.0), axis=1)
    return {"logits": logits, "exit_depth": exit_depth}


def exit_logits(model, features):
    """Returns the same as the model's `exit_logits`, from the loop of `exit_together`."""
    rule = ExitRule("fixed_depth", min_depth=model.backbone.num_layers)
    return _loop_together(model, rule, features)[0]


def _loop_together(model, rule, features):
    """Returns logits `(batch, num_layers, num_classes)`, and exit depths `(batch,)`.

    Logits of depths beyond the last exit are zeros.
    """
    x, mask = model.backbone.embed(features)
    bias, shape = attention_bias(mask), x.shape
    batch, num_layers = tf.shape(x)[0], model.backbone.num_layers
    weights = model.exit_weights()

    def step(layer, depth, x, logits, counts, exit_depth):
        x, now = _apply_layer(model, layer, weights, depth, x, bias)
        previous = tf.gather(logits, tf.maximum(depth - 1, 0), axis=1)
        is_here = tf.reshape(tf.one_hot(depth, num_layers, True, False), (1, -1, 1))
        logits = tf.where(is_here, now[:, tf.newaxis], logits)
        depth += 1
        counts = tf.cast(rule.count(now, previous, counts, depth, ops), tf.int32)
        leaves = rule.is_done(counts, depth, ops) & (exit_depth == num_layers)
        exit_depth = tf.where(leaves, depth, exit_depth)
        return depth, tf.ensure_shape(x, shape), logits, counts, exit_depth

    def is_unfinished(end, depth, x, logits, counts, exit_depth):
        return (depth < end) & tf.reduce_any(depth < exit_depth)

    logits = tf.zeros((batch, num_layers, model.num_classes))
    counts = tf.zeros((batch,), tf.int32)
    exit_depth = tf.fill((batch,), num_layers)
    state = (tf.constant(0), x, logits, counts, exit_depth)
    for layer, end in _loops(model):
        state = tf.while_loop(partial(is_unfinished, end), partial(step, layer), state)
    _, _, logits, _, exit_depth = state
    return logits, exit_depth


def _loops(model):
    """Returns a shared layer, and the depth where its loop ends, for each loop."""
    layers = model.backbone.layers_of_depths
    ends = accumulate(len(list(same)) for _, same in groupby(layers))
    return [(layers[end - 1], end) for end in ends]


def _apply_layer(model, layer, weights, depth, x, bias):
    """Returns the states after a layer, and the logits `(rows, num_classes)`.

    `depth` counts from 0.
    """
    for encoder in layer:
        x = encoder(x, bias, training=False)
    kernels, biases = weights
    pooled = tf.cast(model.backbone.pooler(x[:, 0]), kernels.dtype)
    # Slices of the stacked heads stay in float32 when TFLite quantizes.
    return x, pooled @ kernels[depth] + biases[depth]


def _repeat(step, state, end, model):
    classes = model.num_classes
    of_x = [state.x.shape[0] and None, None, state.x.shape[-1]]
    rows, logits = [None], [None, classes]
    shapes = _State([], rows, of_x, [None, None], logits, rows, logits, rows)
    last = tf.while_loop(
        lambda *state: tf.logical_and(state[0] < end, tf.size(state[1]) > 0),
        lambda *state: step(_State(*state)),
        state,
        shape_invariants=_State(*map(tf.TensorShape, shapes)),
        parallel_iterations=1,
        maximum_iterations=end,
    )
    return _State(*last)


def _step(model, rule, layer, weights, state):
    """Returns the `_State` after the next depth."""
    bias = attention_bias(state.mask)
    x, now = _apply_layer(model, layer, weights, state.depth, state.x, bias)
    depth = state.depth + 1
    counts = rule.count(now, state.previous, state.counts, depth, ops)
    counts = tf.cast(counts, tf.int32)
    done = rule.is_done(counts, depth, ops)
    places = state.rows[:, tf.newaxis]
    # Each depth overwrites the one before.
    depths = tf.fill(tf.shape(state.rows), depth)
    logits = tf.tensor_scatter_nd_update(state.logits, places, now)
    exit_depth = tf.tensor_scatter_nd_update(state.exit_depth, places, depths)
    kept = (state.rows, x, state.mask, now, counts)
    rows, x, mask, now, counts = tf.cond(
        tf.reduce_any(done), lambda: _unfinished(kept, done), lambda: kept
    )
    return _State(depth, rows, x, mask, now, counts, logits, exit_depth)


def _unfinished(kept, done):
    """Returns the tensors of unfinished rows, without columns of padding only."""
    places = tf.where(~done)[:, 0]
    rows, x, mask, now, counts = (tf.gather(tensor, places) for tensor in kept)
    is_real = tf.cast(mask > 0, tf.int32)
    ends = tf.reduce_max(is_real * tf.range(1, tf.shape(mask)[1] + 1), axis=1)
    # Without rows, the maximum is the smallest integer.
    longest = tf.maximum(tf.reduce_max(ends), 1)
    return rows, x[:, :longest], mask[:, :longest], now, counts
