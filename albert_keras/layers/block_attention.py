"""Block attention: each token attends to its neighbourhood and to the first tokens.

Time and memory grow linearly with the length of a row. The weights are the same as with
full attention. A block of `block_size` tokens attends to `num_window_blocks` blocks on
each side. The first `num_global_blocks` attend to all blocks, and all blocks to them.
BigBird adds random blocks, with little effect; there are none here.

Reference: Beltagy et al. 2020, Longformer, section 3; Zaheer et al. 2020, BigBird.
"""

from functools import partial

from keras import ops

from albert_keras.layers.attention_bias import MASKED_SCORE, attention_bias
from albert_keras.layers.chunks import CHUNK_LENGTH, concatenate_in_turn, slices


def has_blocks(config, sequence_length):
    """Returns whether attention in rows of this length is computed in blocks.

    In short rows all tokens attend to each other. `sequence_length` is `None` while a
    graph for any length is traced.
    """
    if config.attention == "full" or sequence_length is None:
        return config.attention == "block"
    num_attended = config.num_global_blocks + 1 + config.num_window_blocks
    return sequence_length > num_attended * config.block_size


def block_bias(config, sequence_length):
    """Returns the bias with which full attention equals block attention.

    Returns:
        float32, `(1, 1, sequence_length, sequence_length)`.
    """
    blocks = ops.arange(sequence_length, dtype="int32") // config.block_size
    is_global = blocks < config.num_global_blocks
    is_near = ops.abs(blocks[:, None] - blocks) <= config.num_window_blocks
    allowed = ops.logical_or(is_near, ops.logical_or(is_global[:, None], is_global))
    return attention_bias(allowed[None])


def block_attention(query, key, value, bias, attend, config, training=False):
    """Computes attention in blocks.

    Args:
        query, key, value: `(batch, sequence_length, num_heads, head_dim)`.
        bias: `(batch, 1, 1, sequence_length)`.
        attend: Function `(query, key, value, bias)` that computes full attention.
        config: `AlbertConfig`.
        training: bool. Whether gradients are computed. If not, and the length is known,
            a few blocks are computed at a time.

    Returns:
        Context, with the shape of the query.
    """
    if bias.shape[2] != 1:
        raise ValueError(
            'attention="block" needs a padding mask (batch, sequence_length), without '
            f"packed rows. Received: a bias of shape {bias.shape}. Use rows with one "
            'example each, or attention="full".'
        )
    size, num_global = config.block_size, config.num_global_blocks
    batch, sequence_length, *heads = ops.shape(query)
    num_blocks = (sequence_length + size - 1) // size
    keys_of_blocks = _keys_of_blocks(num_blocks, config)

    def blocks_of(x, num_blocks, fill=0):
        padding = [(0, 0)] * len(x.shape)
        padding[1] = (0, num_blocks * size - sequence_length)
        x = ops.pad(x, padding, constant_values=fill)
        # (batch, num_blocks, block_size * values of a token)
        return ops.reshape(x, (batch, num_blocks, -1))

    queries, keys, values = (blocks_of(x, num_blocks) for x in (query, key, value))
    # With one more block, whose keys are all masked.
    biases = blocks_of(ops.squeeze(bias, (1, 2)), num_blocks + 1, MASKED_SCORE)
    attend_globally = partial(attend, query[:, : num_global * size], key, value, bias)

    def attend_in_blocks(chunk):
        attended = keys_of_blocks[chunk]
        # The masked block has no keys and values; those of another block are used.
        existing = ops.minimum(attended, num_blocks - 1)
        # Each block is a row for `attend`.
        num_rows = batch * ops.shape(attended)[0]
        context = attend(
            ops.reshape(queries[:, chunk], (num_rows, size, *heads)),
            ops.reshape(ops.take(keys, existing, axis=1), (num_rows, -1, *heads)),
            ops.reshape(ops.take(values, existing, axis=1), (num_rows, -1, *heads)),
            ops.reshape(ops.take(biases, attended, axis=1), (num_rows, 1, 1, -1)),
        )
        return ops.reshape(context, (batch, -1, *heads))

    known_blocks = None if training else keys_of_blocks.shape[0]
    chunks = slices(known_blocks, max(1, CHUNK_LENGTH // size), start=num_global)
    functions = [attend_globally, *(partial(attend_in_blocks, each) for each in chunks)]
    return concatenate_in_turn(functions)[:, :sequence_length]


def _keys_of_blocks(num_blocks, config):
    """Returns the numbers of the blocks of keys that each block attends to.

    Returns:
        int32, `(num_blocks, num_global_blocks + window)`: the global blocks, then the
        blocks of the window. `num_blocks`, the masked block, is in place of blocks that
        do not exist or are global, so that no key counts twice. The rows of global
        blocks are not used.
    """
    first, margin = config.num_global_blocks, config.num_window_blocks
    # (num_blocks, 1)
    own = ops.expand_dims(ops.arange(num_blocks, dtype="int32"), axis=1)
    window = own + ops.arange(-margin, margin + 1, dtype="int32")
    is_outside = ops.logical_or(window < first, window >= num_blocks)
    window = ops.where(is_outside, num_blocks, window)
    return ops.concatenate([own * 0 + ops.arange(first, dtype="int32"), window], axis=1)
