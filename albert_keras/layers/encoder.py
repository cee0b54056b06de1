"""Transformer layer with shareable sub-layers, and the stack of all layers."""

from itertools import groupby

import keras
from keras import ops

from albert_keras.layers.attention import SelfAttention
from albert_keras.layers.attention_bias import attention_bias
from albert_keras.layers.configured import ConfiguredLayer
from albert_keras.layers.feed_forward import FeedForward
from albert_keras.layers.seeds import ReplicaSeedGenerator


@keras.saving.register_keras_serializable(package="albert_keras")
class TransformerEncoder(ConfiguredLayer):
    """Post-norm transformer layer of two sub-layers, each of which may be shared.

    Args:
        attention: `SelfAttention`, or `None` for a new one. Pass the same object to
            several encoders to share it.
        feed_forward: `FeedForward`, or `None` for a new one. Shared in the same way.

    Input and output shape:
        As for `SelfAttention`. If `seeds` is `None`, the layer draws its own.

    Reference: Vaswani et al. 2017, section 3.1; Lan et al. 2020, section 3.1
    "Cross-layer parameter sharing".
    """

    def __init__(self, albert_config, attention=None, feed_forward=None, **kwargs):
        super().__init__(albert_config, **kwargs)

        def make(kind, name):
            return kind(self.albert_config, dtype=self.dtype_policy, name=name)

        self.attention = attention or make(SelfAttention, "attention")
        self.feed_forward = feed_forward or make(FeedForward, "feed_forward")
        self.num_seeds = self.attention.num_seeds + self.feed_forward.num_seeds
        self.seed_generator = ReplicaSeedGenerator()

    def build(self, input_shape):
        for sub_layer in (self.attention, self.feed_forward):
            if not sub_layer.built:
                sub_layer.build(input_shape)

    def call(self, x, bias, seeds=None, training=False, return_attention_scores=False):
        if training and seeds is None:
            drawn = self.draw_seeds()
            seeds = None if drawn is None else ops.unstack(drawn[0])

        options = bias, seeds, training, return_attention_scores

        def apply(x):
            return self.apply_sub_layers(x, *options)

        if self.albert_config.rematerialization and training:
            apply = keras.remat(apply)
        return apply(x)

    def apply_sub_layers(self, x, bias, seeds, training, return_attention_scores=False):
        """Returns the output of `call` for drawn seeds, without rematerialization."""
        num_seeds = self.attention.num_seeds
        attended = self.attention(
            x,
            bias,
            seeds=seeds and seeds[:num_seeds],
            training=training,
            return_attention_scores=return_attention_scores,
        )
        scores = ()
        if return_attention_scores:
            attended, *scores = attended
        output = self.feed_forward(
            attended, seeds=seeds and seeds[num_seeds:], training=training
        )
        return (output, *scores) if scores else output

    def draw_seeds(self, num_calls=1):
        """Returns the dropout seeds of the next calls, or `None` without dropout.

        Returns:
            Integers, `(num_calls, num_seeds, 2)`.
        """
        config = self.albert_config
        if config.dropout == config.attention_dropout_rate == 0.0:
            return None
        seeds = self.seed_generator.draw(num_calls * self.num_seeds)
        return ops.reshape(seeds, (num_calls, self.num_seeds, 2))


@keras.saving.register_keras_serializable(package="albert_keras")
class EncoderStack(ConfiguredLayer):
    """All transformer layers of the encoder, applied one after the other.

    Args:
        encoders: List that `build_encoders` returned, or `None` to build it.

    Attributes:
        depth: Number of encoders to apply, or `None` for all. Training may begin with
            fewer. A graph that was traced before keeps its depth.

    Call arguments:
        x: `(batch, sequence_length, hidden_dim)`.
        attention_mask: See `attention_bias`.
        training: bool. Whether to apply dropout.
        return_hidden_states, return_attention_scores: bool.

    Output shape:
        As `x`. With `return_hidden_states` or `return_attention_scores` a tuple of it and
        a dict of lists: `hidden_states`, `x` and the output of each layer; and
        `attention_scores`, `(batch, num_heads, sequence_length, sequence_length)` of each
        layer, empty if they are not returned.

    Example:

    >>> from albert_keras.config import AlbertConfig
    >>> stack = EncoderStack(AlbertConfig.from_preset("albert_test", num_layers=3))
    >>> x, mask = ops.ones((2, 7, 24)), ops.ones((2, 7))
    >>> x, outputs = stack(x, mask, return_hidden_states=True)
    >>> len(outputs["hidden_states"])
    4

    Reference: google-research/albert modeling.py `transformer_model`.
    """

    def __init__(self, albert_config, encoders=None, **kwargs):
        super().__init__(albert_config, **kwargs)
        config, dtype = self.albert_config, self.dtype_policy
        self.encoders = encoders or build_encoders(config, dtype)
        self.depth = None

    def call(
        self,
        x,
        attention_mask,
        training=False,
        return_hidden_states=False,
        return_attention_scores=False,
    ):
        bias = attention_bias(attention_mask)
        encoders = self.encoders[: self.depth]
        if not (return_hidden_states or return_attention_scores):
            return self._apply(encoders, x, bias, training)
        states, all_scores = [x], []
        for encoder in encoders:
            if return_attention_scores:
                options = {"training": training, "return_attention_scores": True}
                x, scores = encoder(x, bias, **options)
                all_scores.append(scores)
            else:
                x = self._apply([encoder], x, bias, training)
            states.append(x)
        return x, {"hidden_states": states, "attention_scores": all_scores}

    def compute_output_spec(self, x, attention_mask, training=False, **options):
        if any(options.values()):
            return super().compute_output_spec(x, attention_mask, training, **options)
        # Without this, Keras would trace `call`, and deep models would be slow to build.
        return keras.KerasTensor(x.shape, dtype=self.compute_dtype)

    def _apply(self, encoders, x, bias, training):
        """Applies encoders in the way that suits the backend."""
        groups = [(encoder, len(list(same))) for encoder, same in groupby(encoders)]
        rematerialized = training and self.albert_config.rematerialization
        if rematerialized and keras.config.backend() == "tensorflow":
            from albert_keras.layers.tensorflow_kernels import apply_rematerialized

            return apply_rematerialized(groups, x, bias)
        for encoder, depth in groups:
            seeds = encoder.draw_seeds(depth) if training else None
            for index in range(depth):
                layer_seeds = None if seeds is None else ops.unstack(seeds[index])
                x = encoder(x, bias, seeds=layer_seeds, training=training)
        return x


def build_encoders(albert_config, dtype=None):
    """Builds the encoders of all depths, each shared sub-layer once.

    Args:
        albert_config: `AlbertConfig`. Its `sharing` selects the sub-layers that are
            shared by the layers of a group.
        dtype: Keras dtype policy of the layers.

    Returns:
        List of `num_layers * num_inner_repetitions` `TransformerEncoder`, in the order
        of application; shared encoders occur several times.

    Reference: google-research/albert modeling.py `transformer_model`. The group of layer
    i is `i * num_groups // num_layers` in integers; the original divides in floating
    point, which gives the same groups for all released configs.
    """
    layers, in_order = {}, []

    def layer_of(kind, name, *sub_layers):
        if name not in layers:
            layers[name] = kind(albert_config, *sub_layers, dtype=dtype, name=name)
        return layers[name]

    for layer in range(albert_config.num_layers):
        group = layer * albert_config.num_groups // albert_config.num_layers
        for inner in range(albert_config.num_inner_repetitions):
            shared, own = f"group_{group}_inner_{inner}", f"layer_{layer}_inner_{inner}"
            attention_name = shared if albert_config.shares("attention") else own
            ffn_name = shared if albert_config.shares("ffn") else own
            attention = layer_of(SelfAttention, f"{attention_name}_attention")
            feed_forward = layer_of(FeedForward, f"{ffn_name}_feed_forward")
            name = shared if albert_config.sharing == "all" else own
            encoder = layer_of(TransformerEncoder, name, attention, feed_forward)
            if not encoder.built:
                # Not built by the stack, whose name would be in the variables' paths, by
                # which checkpoints and converters find them.
                encoder.build((None, None, albert_config.hidden_dim))
            in_order.append(encoder)
    return in_order
