"""Feed-forward sub-layer of the transformer."""

from functools import partial

import keras
from keras import ops

from albert_keras.layers.activations import activate
from albert_keras.layers.chunks import concatenate_in_turn, slices
from albert_keras.layers.configured import ConfiguredLayer, flatten_sequences
from albert_keras.layers.seeds import dropout_with_seed


@keras.saving.register_keras_serializable(package="albert_keras")
class FeedForward(ConfiguredLayer):
    """Feed-forward sub-layer: two dense layers, dropout, residual, normalization.

    Input shape:
        `(batch, sequence_length, hidden_dim)`, also the output shape; `seeds`, a list of
        `num_seeds` dropout seeds `(2,)`, or `None`.

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
        def apply(chunk):
            return self._apply(x[:, chunk], seeds, training)

        chunks = slices(None if training else x.shape[1])
        return concatenate_in_turn([partial(apply, chunk) for chunk in chunks])

    def _apply(self, x, seeds, training):
        config = self.albert_config
        # (batch * sequence_length, intermediate_dim)
        intermediate = self.intermediate(flatten_sequences(x))
        intermediate = activate(config.activation, intermediate, training)
        output = ops.reshape(self.projection(intermediate), ops.shape(x))
        if seeds is not None:
            output = dropout_with_seed(output, config.dropout, seeds[0])
        return self.normalization(x + output)
