"""BERT's WordPiece tokenizer for Chinese ALBERT, in Python and in the graph."""

import os
import pathlib

import keras

from albert_keras.system.files import atomic_path
from albert_keras.tokenizers.base import EncoderTokenizer
from albert_keras.tokenizers.vocabulary import read_vocabulary
from albert_keras.tokenizers.word_piece_encoder import (
    CONTINUATION,
    MAX_WORD_LENGTH,
    WordPieceEncoder,
)
from albert_keras.tokenizers.word_splitting import split_words, split_words_tensor

VOCABULARY_FILE = "vocabulary.txt"


@keras.saving.register_keras_serializable(package="albert_keras")
class WordPieceTokenizer(EncoderTokenizer):
    """BERT's tokenizer, which Chinese ALBERT was trained with.

    Splits text into words as Google's `BasicTokenizer`, then each word into the longest
    tokens of the vocabulary. keras-hub's tokenizer of the same name differs: it folds
    case, splits words at control characters, knows only ASCII white space and does not
    split words of more than 100 bytes.

    Args:
        vocabulary: str, path or list of str. A file of one token per line, or the tokens,
            with `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]` and `[MASK]`. `None` until a preset
            is loaded.
        lowercase: bool. Lower-cases, for an uncased vocabulary.
        strip_accents: bool, or `None` for the value of `lowercase`. Decomposes characters
            and drops combining marks.
        split_chinese: bool. Whether each Chinese character is a word. `False` for
            vocabularies with longer Chinese tokens.
        **kwargs: `sequence_length`, `add_bos`, `add_eos` of `EncoderTokenizer`, and
            arguments of `keras.layers.Layer`.

    Input shape: strings, `(...)`. Output shape: ids, `(..., None)`.

    Example:

    >>> tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "好"]
    >>> tokenizer = WordPieceTokenizer(tokens)
    >>> tokenizer("Playing好好")
    [5, 6, 7, 7]

    Reference: google-research/albert `tokenization.py`, `BasicTokenizer` and
    `WordpieceTokenizer`.
    """

    vocabulary_argument = "vocabulary"

    def __init__(
        self,
        vocabulary=None,
        lowercase=True,
        *,
        strip_accents=None,
        split_chinese=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.file_assets = [VOCABULARY_FILE]
        # Defaults stay out of the config, so that they do not change fingerprints.
        self._options = {"lowercase": lowercase}
        if strip_accents not in (None, lowercase):
            self._options["strip_accents"] = strip_accents
        if not split_chinese:
            self._options["split_chinese"] = False
        self.set_vocabulary(vocabulary)

    def set_vocabulary(self, vocabulary):
        """Sets the vocabulary: a path or a list of tokens, or `None` for none."""
        encoder = None
        if isinstance(vocabulary, (str, os.PathLike)):
            vocabulary = read_vocabulary(vocabulary)
        if vocabulary is not None:
            encoder = WordPieceEncoder(list(vocabulary), **self._options)
        self._set_encoder(encoder)

    def with_words(self, words):
        """Returns a tokenizer with more words, a dict of str by id, in its vocabulary."""
        tokens, rules = self.get_vocabulary(), self.encoder.rules
        new = [words[index] for index in words if index >= len(tokens)]
        tokens += ["".join(split_words(word, rules)) for word in new]
        return type(self)(tokens, **self._options)

    def save_assets(self, dir_path):
        with atomic_path(pathlib.Path(dir_path, VOCABULARY_FILE)) as temporary:
            lines = [f"{token}\n" for token in self.encoder.get_vocabulary()]
            temporary.write_text("".join(lines), encoding="utf-8")

    def load_assets(self, dir_path):
        self.set_vocabulary(pathlib.Path(dir_path, VOCABULARY_FILE))

    def tokenize_with_masks(self, strings):
        import tensorflow as tf

        # (n, parts, ids). The mask is put before each part; that of the first is removed.
        parts = tf.strings.split(strings, self.mask_token)
        ids = self.tokenize(parts)
        mask = tf.fill([tf.size(parts.flat_values), 1], self.mask_token_id)
        ids = ids.with_values(tf.concat([mask, ids.values], axis=1))
        return ids.merge_dims(1, 2)[:, 1:]

    def tokenize_with_spans(self, strings):
        import tensorflow as tf

        from albert_keras.tokenizers.tensor_spans import locate_tokens

        strings = tf.strings.unicode_transcode(strings, "UTF-8", "UTF-8", "ignore")
        words, ids = self._tokenize_words(strings)
        # (num_tokens,): characters of each token. An unknown token is a whole word.
        tokens = self.encoder.get_vocabulary()
        sizes = [len(token.removeprefix(CONTINUATION)) for token in tokens]
        lengths = tf.gather(tf.constant(sizes, tf.int64), ids.flat_values)
        of_words = tf.strings.length(words.flat_values, "UTF8_CHAR")
        of_words = tf.gather(tf.cast(of_words, tf.int64), ids.values.value_rowids())
        lengths = tf.where(ids.flat_values == self.unk_token_id, of_words, lengths)
        ids = ids.merge_dims(1, 2)
        spans = locate_tokens(strings, ids, lengths, self.encoder.rules)
        return ids, *map(ids.with_values, spans)

    def _tokenize_vector(self, strings):
        _, ids = self._tokenize_words(strings)
        return ids.merge_dims(1, 2)

    def _tokenize_words(self, strings):
        """Returns ragged words `(n, None)`, and ids `(n, None, None)`."""
        import tensorflow as tf

        tokenizer = self._get_graph_tokenizer()
        words = split_words_tensor(strings, self.encoder.rules)
        too_long = tf.strings.length(words.flat_values, "UTF8_CHAR") > MAX_WORD_LENGTH
        unknown = self.encoder.special_tokens[1]
        # Unknown words keep their length.
        known = words.with_flat_values(tf.where(too_long, unknown, words.flat_values))
        return words, tokenizer.tokenize(known)

    def _build_graph_tokenizer(self):
        import tensorflow as tf
        import tensorflow_text as tf_text

        return tf_text.FastWordpieceTokenizer(
            self.encoder.get_vocabulary(),
            max_bytes_per_word=4 * MAX_WORD_LENGTH,
            token_out_type=tf.int32,
            unknown_token=self.encoder.special_tokens[1],
            no_pretokenization=True,
        )
