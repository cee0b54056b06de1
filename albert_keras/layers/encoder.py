"""The transformer encoder: two sub-layers that can be shared apart, and their stack."""

import keras
from keras import ops

from albert_keras.layers.activations import activate
from albert_keras.layers.configured import ConfiguredLayer
from albert_keras.layers.seeds import DrawnSeed, ReplicaSeedGenerator

# The original's additive mask. Added in float32, where it drives the softmax of a padded
# position to exactly 0 without overflow; float16 could not hold a larger one safely.
MASKED_SCORE = -10000.0


@keras.saving.register_keras_serializable(package="albert_keras")
class SelfAttention(ConfiguredLayer):
    """Attention sub-layer: multi-head self-attention, dropout, residual, normalization.

    Our own rather than `keras.layers.MultiHeadAttention`: the kernels keep the two
    dimensions of the published files, scores are masked in float32 under every policy,
    and dropout takes seeds drawn outside, which rematerialization needs.

    Args:
        albert_config: `AlbertConfig`.

    Input shape:
        `(batch, sequence_length, hidden_dim)`; `padding_mask` `(batch,
        sequence_length)`, 1 = real, or one such row for each query, `(batch,
        sequence_length, sequence_length)`.

    Output shape:
        The same, and attention scores after the softmax, `(batch, num_heads,
        sequence_length, sequence_length)`.

    Reference: google-research/albert modeling.py `attention_layer`.
    """

    num_seeds = 2

    def __init__(self, albert_config, **kwargs):
        super().__init__(albert_config, **kwargs)
        hidden_dim = self.albert_config.hidden_dim
        self.query = self.dense(hidden_dim, "query")
        self.key = self.dense(hidden_dim, "key")
        self.value = self.dense(hidden_dim, "value")
        self.projection = self.dense(hidden_dim, "projection")
        self.normalization = self.layer_norm()

    def build(self, input_shape):
        hidden_shape = (None, None, self.albert_config.hidden_dim)
        for layer in (self.query, self.key, self.value, self.projection):
            layer.build(hidden_shape)
        self.normalization.build(hidden_shape)

    def call(self, x, padding_mask, seeds=None, training=False):
        config = self.albert_config
        head_dim = config.hidden_dim // config.num_heads
        query = self._split_heads(self.query(x)) * (head_dim**-0.5)
        key = self._split_heads(self.key(x))
        value = self._split_heads(self.value(x))

        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))
        scores = ops.cast(scores, keras.backend.result_type(scores.dtype, "float32"))
        own_masks = len(padding_mask.shape) == 3
        mask = padding_mask[:, None] if own_masks else padding_mask[:, None, None, :]
        padded = 1.0 - ops.cast(mask, scores.dtype)
        attention_scores = ops.softmax(scores + padded * MASKED_SCORE)

        weights = ops.cast(attention_scores, self.compute_dtype)
        if seeds is not None:
            weights = keras.random.dropout(
                weights, config.attention_dropout_rate, seed=DrawnSeed(seeds[0])
            )
        context = ops.transpose(ops.matmul(weights, value), (0, 2, 1, 3))
        context = ops.reshape(context, ops.shape(x))
        output = self.projection(context)
        if seeds is not None:
            output = keras.random.dropout(
                output, config.dropout, seed=DrawnSeed(seeds[1])
            )
        return self.normalization(x + output, training=training), attention_scores

    def _split_heads(self, x):
        batch, sequence_length, hidden_dim = ops.shape(x)
        num_heads = self.albert_config.num_heads
        shape = (batch, sequence_length, num_heads, hidden_dim // num_heads)
        return ops.transpose(ops.reshape(x, shape), (0, 2, 1, 3))


@keras.saving.register_keras_serializable(package="albert_keras")
class FeedForward(ConfiguredLayer):
    """Feed-forward sub-layer: two dense layers, dropout, residual, normalization.

    Args:
        albert_config: `AlbertConfig`.

    Input shape:
        `(batch, sequence_length, hidden_dim)`.

    Output shape:
        The same.

    Reference: google-research/albert modeling.py `attention_ffn_block`.
    """

    num_seeds = 1

    def __init__(self, albert_config, **kwargs):
        super().__init__(albert_config, **kwargs)
        config = self.albert_config
        self.intermediate = self.dense(config.intermediate_dim, "intermediate")
        self.projection = self.dense(config.hidden_dim, "projection")
        self.normalization = self.layer_norm()

    def build(self, input_shape):
        config = self.albert_config
        self.intermediate.build((None, None, config.hidden_dim))
        self.projection.build((None, None, config.intermediate_dim))
        self.normalization.build((None, None, config.hidden_dim))

    def call(self, x, seeds=None, training=False):
        activation = self.albert_config.activation
        intermediate = activate(activation, self.intermediate(x), training)
        output = self.projection(intermediate)
        if seeds is not None:
            output = keras.random.dropout(
                output, self.albert_config.dropout, seed=DrawnSeed(seeds[0])
            )
        return self.normalization(x + output, training=training)


@keras.saving.register_keras_serializable(package="albert_keras")
class TransformerEncoder(ConfiguredLayer):
    """One post-norm transformer layer made of two sub-layers, own or shared.

    Args:
        albert_config: `AlbertConfig`.
        attention: `SelfAttention`, or `None` for a new one. Pass the same object to
            several encoders to share it.
        feed_forward: `FeedForward`, or `None` for a new one, likewise.

    Input shape:
        `(batch, sequence_length, hidden_dim)`; `padding_mask` as `SelfAttention` takes
        it.

    Output shape:
        The same; with `return_attention_scores=True` also the scores, `(batch,
        num_heads, sequence_length, sequence_length)`.

    Reference: Vaswani et al. 2017, section 3.1; Lan et al. 2020, section 3.1
    "Cross-layer parameter sharing".
    """

    def __init__(self, albert_config, attention=None, feed_forward=None, **kwargs):
        super().__init__(albert_config, **kwargs)
        config, dtype = self.albert_config, self.dtype_policy
        self.attention = attention or SelfAttention(
            config, dtype=dtype, name="attention"
        )
        self.feed_forward = feed_forward or FeedForward(
            config, dtype=dtype, name="feed_forward"
        )
        self.seed_generator = ReplicaSeedGenerator()

    def build(self, input_shape):
        for sub_layer in (self.attention, self.feed_forward):
            if not sub_layer.built:
                sub_layer.build(input_shape)

    def call(self, x, padding_mask, training=False, return_attention_scores=False):
        seeds = self.draw_seeds() if training else None

        def apply(x):
            return self.apply_sub_layers(x, padding_mask, seeds, training)

        if self.albert_config.rematerialization and training:
            apply = keras.remat(apply)
        output, attention_scores = apply(x)
        return (output, attention_scores) if return_attention_scores else output

    def apply_sub_layers(self, x, padding_mask, seeds, training):
        """Returns the output and the attention scores under drawn seeds."""
        num_seeds = self.attention.num_seeds
        attended, attention_scores = self.attention(
            x, padding_mask, seeds=seeds and seeds[:num_seeds], training=training
        )
        output = self.feed_forward(
            attended, seeds=seeds and seeds[num_seeds:], training=training
        )
        return output, attention_scores

    def compute_output_spec(
        self, x, padding_mask, training=False, return_attention_scores=False
    ):
        # Stated, since tracing `call` at every depth made deep models slow to build.
        output = keras.KerasTensor(x.shape, dtype=self.compute_dtype)
        if not return_attention_scores:
            return output
        batch, sequence_length, _ = x.shape
        scores_shape = (
            batch,
            self.albert_config.num_heads,
            sequence_length,
            sequence_length,
        )
        dtype = keras.backend.result_type(self.compute_dtype, "float32")
        return output, keras.KerasTensor(scores_shape, dtype=dtype)

    def draw_seeds(self):
        """Returns a list of the seeds of one call's dropout; `None` without dropout."""
        config = self.albert_config
        if config.dropout == config.attention_dropout_rate == 0.0:
            return None
        num_seeds = self.attention.num_seeds + self.feed_forward.num_seeds
        return [self.seed_generator.next() for _ in range(num_seeds)]


def build_encoder_stack(albert_config, dtype=None):
    """Builds the encoders of all depths, each shared sub-layer once.

    Args:
        albert_config: `AlbertConfig`. `sharing` says which sub-layers exist once a
            group and which once a layer.
        dtype: Keras dtype policy of the layers.

    Returns:
        List of `num_layers * num_inner_repetitions` `TransformerEncoder`, in the order
        of application; with sharing, the same objects stand in it several times.

    Reference: google-research/albert modeling.py `transformer_model`; group of layer i is
    `i * num_groups // num_layers` in integers (the original divides in floating point,
    which gives the same group for every released config).
    """
    attentions, feed_forwards, encoders, stack = {}, {}, {}, []
    for layer in range(albert_config.num_layers):
        group = layer * albert_config.num_groups // albert_config.num_layers
        for inner in range(albert_config.num_inner_repetitions):
            shared, own = f"group_{group}_inner_{inner}", f"layer_{layer}_inner_{inner}"
            attention_name = shared if albert_config.shares("attention") else own
            ffn_name = shared if albert_config.shares("ffn") else own
            if attention_name not in attentions:
                attentions[attention_name] = SelfAttention(
                    albert_config, dtype=dtype, name=f"{attention_name}_attention"
                )
            if ffn_name not in feed_forwards:
                feed_forwards[ffn_name] = FeedForward(
                    albert_config, dtype=dtype, name=f"{ffn_name}_feed_forward"
                )
            if (attention_name, ffn_name) not in encoders:
                encoders[attention_name, ffn_name] = TransformerEncoder(
                    albert_config,
                    attentions[attention_name],
                    feed_forwards[ffn_name],
                    dtype=dtype,
                    name=shared if attention_name == ffn_name == shared else own,
                )
            stack.append(encoders[attention_name, ffn_name])
    return stack
