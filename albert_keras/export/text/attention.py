"""Attention: a text or a pair in, its tokens and their attention to each other out."""

import tensorflow as tf

from albert_keras.export.signatures import TEXT_INPUTS
from albert_keras.export.text.graph import as_features, text_input
from albert_keras.tokenizers.packing import pack_tensors, trim_tensors

ATTENTION_SIGNATURE = "serve_attention"


def attention_signature(model, tokenizer, sequence_length, takes_pairs):
    """Returns the concrete function of a model's attention.

    Inputs: `text`, and if it `takes_pairs` `text_pair`, strings `(batch,)`.

    Outputs: `tokens`, strings `(batch, length)`, and float32 `attention` `(batch,
    num_layers, num_heads, length, length)`: the share that the token of a row gives to
    that of a column.

    Args:
        model: One of our models.
        tokenizer: A tokenizer of this package.
        sequence_length: int. Tokens that longer texts are truncated to.
        takes_pairs: bool.
    """
    backbone = getattr(model, "backbone", model)
    run = backbone.with_outputs(attention_scores=True)
    names = [
        tokenizer.id_to_token(index) for index in range(tokenizer.vocabulary_size())
    ]

    @tf.function(autograph=False)
    def serve(**texts):
        segments = [
            tokenizer.tokenize(texts[name]) for name in TEXT_INPUTS if name in texts
        ]
        packed = trim_tensors(pack_tensors(segments, tokenizer, sequence_length))
        features = as_features(packed)
        scores = run(features, training=False)["attention_scores"]
        is_real = features["padding_mask"] > 0
        tokens = tf.gather(tf.constant(names), features["token_ids"])
        return {
            "tokens": tf.where(is_real, tokens, ""),
            "attention": tf.cast(tf.stack(scores, axis=1), tf.float32),
        }

    inputs = TEXT_INPUTS if takes_pairs else TEXT_INPUTS[:1]
    return serve.get_concrete_function(**{name: text_input(name) for name in inputs})
