"""ALBERT's SentencePiece tokenizer, in Python and in the TensorFlow graph."""

import functools
import pathlib

import keras
import numpy as np

from albert_keras.system.files import atomic_path
from albert_keras.tokenizers import normalization, sentence_piece_model
from albert_keras.tokenizers.base import EncoderTokenizer
from albert_keras.tokenizers.sentence_piece_encoder import (
    MASK_STAND_IN,
    SentencePieceEncoder,
)
from albert_keras.tokenizers.sentence_piece_model import MASK

PROTO_FILE = "vocabulary.spm"


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTokenizer(EncoderTokenizer):
    """ALBERT's tokenizer: Google's preprocessing, then SentencePiece.

    Reads every kind of SentencePiece model. Python strings and TensorFlow string tensors
    give the same ids, with two exceptions: the lower case of characters newer than
    Unicode 13, and segmentations of equal score, such as `8 88` and `88 8`, where
    rounding decides (2 of 103,387 lines of English and Chinese).

    Args:
        proto: str, path or bytes. A SentencePiece model, with the pieces `<pad>`,
            `<unk>`, `[CLS]`, `[SEP]` and `[MASK]`. `None` until a preset is loaded.
        lowercase: bool. `True` for the released English vocabulary.
        strip_accents: bool. Decomposes characters and drops combining marks, which the
            released models need; `False` for vocabularies trained with accents.
        huggingface_quotes: bool. Turns ` `` ` and `''` into `"`, as transformers does
            and Google's code does not.
        split_digit_comma: bool. Splits pieces such as `▁2012,` into `▁2012` and `,`.
        mask_in_text: bool. Whether `[MASK]` in text is the mask token, with white space
            before it, or ordinary text.
        **kwargs: `sequence_length`, `add_bos`, `add_eos` of `EncoderTokenizer`, and
            arguments of `keras.layers.Layer`.

    Input shape: strings, `(...)`. Output shape: ids, `(..., None)`.

    Example:

    >>> from albert_keras.tokenizers import train_sentence_piece
    >>> text = ["the quick brown fox", "the lazy dog", "a quick dog, a lazy fox"]
    >>> tokenizer = AlbertTokenizer(train_sentence_piece(text, 36))
    >>> tokenizer.detokenize(tokenizer("The lazy FOX"))
    'the lazy fox'

    Reference: Lan et al. 2020, section 3.1 (tokenized with SentencePiece as in XLNet);
    google-research/albert `tokenization.py`, `encode_pieces`.
    """

    vocabulary_argument = "proto"

    def __init__(
        self,
        proto=None,
        lowercase=True,
        *,
        strip_accents=True,
        huggingface_quotes=False,
        split_digit_comma=True,
        mask_in_text=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.file_assets = [PROTO_FILE]
        self._options = {
            "lowercase": lowercase,
            "strip_accents": strip_accents,
            "huggingface_quotes": huggingface_quotes,
            "split_digit_comma": split_digit_comma,
            "mask_in_text": mask_in_text,
        }
        self.set_proto(proto)

    def set_proto(self, proto):
        """Sets the SentencePiece model: a path or bytes, or `None` for none."""
        encoder = None
        if proto is not None:
            proto = sentence_piece_model.read_proto(proto)
            encoder = SentencePieceEncoder(proto, **self._options)
        self._set_encoder(encoder)

    def fused_proto(self):
        """Returns a model with preprocessing compiled in; see `SentencePieceEncoder`."""
        return self.encoder.fused_proto()

    def with_masks(self):
        """Returns a tokenizer like this one that reads `[MASK]` in text."""
        if self.encoder.mask_in_text:
            return self
        options = {**self._options, "mask_in_text": True}
        return type(self)(self.encoder.proto, **options)

    def with_words(self, words):
        """Returns a tokenizer that finds words, str by id, anywhere in text."""
        rules = self.encoder.preprocessing
        words = {
            index: normalization.preprocess_text(word, **rules)
            for index, word in words.items()
        }
        proto = sentence_piece_model.with_words(self.encoder.proto, words)
        return type(self)(proto, **self._options)

    def save_assets(self, dir_path):
        with atomic_path(pathlib.Path(dir_path, PROTO_FILE)) as temporary:
            temporary.write_bytes(self.encoder.proto)

    def load_assets(self, dir_path):
        self.set_proto(pathlib.Path(dir_path, PROTO_FILE))

    def tokenize_with_masks(self, strings):
        return self.with_masks().tokenize(strings)

    def tokenize_with_spans(self, strings):
        """See `EncoderTokenizer`."""
        import tensorflow as tf

        from albert_keras.tokenizers.tensor_characters import look_up
        from albert_keras.tokenizers.tensor_spans import locate_pieces, move_places

        strings = tf.strings.unicode_transcode(strings, "UTF-8", "UTF-8", "ignore")
        strings = self._with_stand_ins(strings)
        encoder = self.encoder
        prepared = normalization.preprocess_tensor(strings, **encoder.preprocessing)
        pieces = _tokenizer_of_any_kind(encoder.running_proto)
        located, *spans = pieces.tokenize_with_offsets(prepared)
        spans = [tf.cast(span, tf.int64) for span in spans]
        found = encoder.found_lengths
        found = look_up(
            np.array([*found], np.int32),
            np.array([*found.values()], np.int64),
            0,
            located.flat_values,
        )
        images, *places = locate_pieces(
            strings, prepared, spans, found, encoder.preprocessing, encoder.invisible
        )
        # The tokenizer that locates pieces may choose another one of several
        # segmentations of equal score.
        ids = self._tokenize_pieces(prepared)
        lengths = tf.constant(encoder.piece_lengths)
        starts, ends = move_places(
            places,
            tf.gather(lengths, located.flat_values),
            tf.gather(lengths, ids.flat_values),
        )
        parts = self._parts_of(ids.flat_values)
        # (num_tokens,)
        index, from_start, from_end = tf.unstack(parts.values, axis=1)
        piece_of = parts.value_rowids()
        whole = tf.gather(tf.cast(ids.flat_values, tf.int64), piece_of)
        index = tf.where(from_start < 0, whole, index)
        rows = tf.gather(ids.value_rowids(), piece_of)
        ends = tf.gather(ends, piece_of)
        starts = tf.gather(starts, piece_of)
        starts = tf.where(from_start < 0, starts, ends - from_start)
        starts, ends = images.spans(starts, ends - from_end, rows)
        if encoder.mask_in_text:
            is_mask = index == self.mask_token_id
            starts = tf.where(is_mask, starts - len(MASK) + 1, starts)
        return tuple(
            tf.RaggedTensor.from_value_rowids(values, rows, nrows=ids.nrows())
            for values in (tf.cast(index, tf.int32), starts, ends)
        )

    def _parts_of(self, ids):
        """Returns the tokens of pieces by the digit-comma rule, `(num_pieces, None, 3)`.

        The values, int64, are a token's id and the numbers of characters from its start
        and its end to the end of the piece; 0, -1 and 0 for a whole piece.
        """
        import tensorflow as tf

        from albert_keras.tokenizers.tensor_characters import look_up

        parts = self.encoder.digit_comma_parts
        rows = [[(0, -1, 0)], *parts.values()]
        pieces = np.array([*parts], np.int32)
        table = tf.RaggedTensor.from_row_lengths(
            np.concatenate(rows), [len(row) for row in rows]
        )
        number = look_up(pieces, np.arange(1, len(rows), dtype=np.int32), 0, ids)
        return tf.gather(table, number)

    def _tokenize_vector(self, strings):
        strings = self._with_stand_ins(strings)
        strings = normalization.preprocess_tensor(strings, **self.encoder.preprocessing)
        ids, splits = self._tokenize_pieces(strings), self.encoder.digit_comma_splits
        ids = split_digit_commas(ids, splits) if splits else ids
        return ids.with_row_splits_dtype("int64")

    def _tokenize_pieces(self, strings):
        """Encodes preprocessed strings, before the digit-comma rule."""
        pieces = self._get_graph_tokenizer()()
        return pieces.tokenize(strings).with_row_splits_dtype("int64")

    def _with_stand_ins(self, strings):
        import tensorflow as tf

        if not self.encoder.mask_in_text:
            return strings
        return tf.strings.regex_replace(strings, r"\[MASK\]", MASK_STAND_IN)

    def _build_graph_tokenizer(self):
        """Returns a function that gives TensorFlow's tokenizer.

        The fast one is twice as fast, and breaks ties as Python does, but does not know
        all kinds of models.
        """
        import tensorflow_text as tf_text

        proto = self.encoder.running_proto
        if sentence_piece_model.peculiarities(proto):
            return functools.partial(_tokenizer_of_any_kind, proto)
        fast = tf_text.FastSentencepieceTokenizer(proto)
        return lambda: fast


def split_digit_commas(ids, splits):
    """Applies the digit-comma rule to int32 ragged ids; `splits` maps an id to several.

    The table of splits is padded with -1: TFLite cannot gather from a ragged one.
    """
    import tensorflow as tf

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
    values = tf.boolean_mask(table, is_piece)
    row_splits = tf.gather(ends, ids.row_splits)
    # Validation would add fifty operations to each call.
    return tf.RaggedTensor.from_row_splits(values, row_splits, validate=False)


def _tokenizer_of_any_kind(proto):
    """Returns a new TensorFlow tokenizer of a model.

    The tokenizer is a resource: a SavedModel cannot use one of another graph, and outside
    of a graph TensorFlow may delete it after the call.
    """
    import tensorflow_text as tf_text

    return tf_text.SentencepieceTokenizer(proto)
