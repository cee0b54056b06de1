"""Text as the input of a TFLite file, in operations that TFLite has."""

import tensorflow as tf

from albert_keras.checks import import_optional
from albert_keras.export.signatures import (
    PAIR_SIGNATURE,
    SERVING_SIGNATURE,
    TEXT_INPUTS,
    THRESHOLD,
    backbone_config,
    serve_features,
)
from albert_keras.export.text.embeddings import with_mean_output
from albert_keras.tokenizers.packing import pack_tensors, trim_tensors


def _make_encoder(tokenizer):
    """Returns a function from strings `(batch,)` to int32 ragged ids `(batch, None)`."""
    tf_text = import_optional("tensorflow_text", "lite")
    pieces = tf_text.FastSentencepieceTokenizer(tokenizer.fused_proto())
    splits = tokenizer.encoder.digit_comma_splits

    def encode(text):
        ids = pieces.tokenize(text)
        return _split_digit_commas(ids, splits) if splits else ids

    return encode


def text_signatures(model, tokenizer, sequence_length, takes_pairs, exits):
    """Returns concrete functions from text to a model's outputs, by signature.

    Args:
        model: Model of rows of ids.
        tokenizer: `AlbertTokenizer`.
        sequence_length: int. Tokens that longer texts are truncated to.
        takes_pairs: bool. Whether there are second texts. If not, a model of segments
            has a signature of pairs too.
        exits: Dict of arguments of `serve_features`, by signature.
    """
    encode = _make_encoder(tokenizer)

    def trace(names, takes_threshold=False, **options):
        run = serve_features(model, takes_threshold=takes_threshold, **options)
        if is_backbone:
            run = with_mean_output(run)

        @tf.function(autograph=False)
        def serve(**inputs):
            texts = [inputs.pop(name) for name in TEXT_INPUTS if name in inputs]
            segments = [encode(text) for text in texts]
            rows = trim_tensors(pack_tensors(segments, tokenizer, sequence_length))
            return run(**rows, **inputs)

        specs = {name: tf.TensorSpec((None,), tf.string, name) for name in names}
        if takes_threshold:
            specs[THRESHOLD] = tf.TensorSpec((), tf.float32, THRESHOLD)
        return serve.get_concrete_function(**specs)

    is_backbone = not hasattr(model, "backbone")
    names = TEXT_INPUTS if takes_pairs else TEXT_INPUTS[:1]
    signatures = {name: trace(names, **options) for name, options in exits.items()}
    if not takes_pairs and backbone_config(model).num_segments > 1:
        pairs = trace(TEXT_INPUTS, **exits[SERVING_SIGNATURE])
        signatures[PAIR_SIGNATURE] = pairs
    return signatures


def _split_digit_commas(ids, splits):
    """Applies the digit-comma rule to int32 ragged ids; `splits` maps an id to several.

    TFLite cannot gather from a ragged table, so the table is padded with -1.
    """
    longest = max(len(parts) for parts in splits.values())
    whole = tf.constant(list(splits))
    parts = tf.constant([row + [-1] * (longest - len(row)) for row in splits.values()])

    flat = ids.flat_values[:, tf.newaxis]  # (num_ids, 1)
    matches = tf.equal(flat, whole)  # (num_ids, num_splits)
    row = tf.argmax(tf.cast(matches, tf.int32), axis=1)
    unsplit = tf.pad(flat, [[0, 0], [0, longest - 1]], constant_values=-1)
    is_split = tf.reduce_any(matches, axis=1, keepdims=True)
    table = tf.where(is_split, tf.gather(parts, row), unsplit)  # (num_ids, longest)

    is_piece = table >= 0
    num_pieces = tf.reduce_sum(tf.cast(is_piece, tf.int32), axis=1)
    ends = tf.pad(tf.cumsum(num_pieces), [[1, 0]])
    return tf.RaggedTensor.from_row_splits(
        tf.boolean_mask(table, is_piece),
        tf.gather(ends, ids.row_splits),
        validate=False,
    )
