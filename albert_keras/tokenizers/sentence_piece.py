"""ALBERT's SentencePiece tokenizer, in Python and in the TensorFlow graph."""

import functools
import pathlib

import keras

from albert_keras.system.files import atomic_path
from albert_keras.tokenizers import normalization, sentence_piece_model
from albert_keras.tokenizers.base import EncoderTokenizer
from albert_keras.tokenizers.sentence_piece_encoder import SentencePieceEncoder

PROTO_FILE = "vocabulary.spm"


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTokenizer(EncoderTokenizer):
    """ALBERT's tokenizer: Google's preprocessing, then SentencePiece.

    Reads every kind of SentencePiece model. Python strings and TensorFlow string tensors
    give the same ids, except for segmentations of equal score, such as `8 88` and `88 8`,
    where rounding decides (2 of 103,387 lines of English and Chinese).

    Args:
        proto: str, path or bytes. A SentencePiece model, with the pieces `<pad>`,
            `<unk>`, `[CLS]`, `[SEP]` and `[MASK]`. `None` until a preset is loaded.
        lowercase: bool. `True` for the released English vocabulary.
        strip_accents: bool. Decomposes characters and drops combining marks, which the
            released models need; `False` for vocabularies trained with accents.
        huggingface_quotes: bool. Turns ` `` ` and `''` into `"`, as transformers does
            and Google's code does not.
        split_digit_comma: bool. Uses no pieces such as `▁2012,`, so that their text gives
            `▁2012` and `,`.
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

    def with_words(self, words):
        """Returns a tokenizer that finds words, str by id, anywhere in text."""
        rules = self.encoder.preprocessing
        prepare = functools.partial(normalization.preprocess_text, **rules)
        words = {index: prepare(word) for index, word in words.items()}
        proto = sentence_piece_model.with_words(self.encoder.proto, words)
        return type(self)(proto, **self._options)

    def save_assets(self, dir_path):
        with atomic_path(pathlib.Path(dir_path, PROTO_FILE)) as temporary:
            temporary.write_bytes(self.encoder.proto)

    def load_assets(self, dir_path):
        self.set_proto(pathlib.Path(dir_path, PROTO_FILE))

    def tokenize_with_masks(self, strings):
        options = {**self._options, "mask_in_text": True}
        return type(self)(self.encoder.proto, **options).tokenize(strings)

    def tokenize_with_spans(self, strings):
        import tensorflow as tf
        import tensorflow_text as tf_text

        from albert_keras.tokenizers.tensor_spans import locate_pieces

        encoder = self.encoder
        strings = tf.strings.unicode_transcode(strings, "UTF-8", "UTF-8", "ignore")
        locator = tf_text.SentencepieceTokenizer(encoder.fused_proto())
        pieces, *spans = locator.tokenize_with_offsets(self._with_final_sigmas(strings))
        starts, ends = locate_pieces(strings, pieces, spans, encoder)
        pieces = pieces.with_row_splits_dtype("int64")
        return pieces, pieces.with_values(starts), pieces.with_values(ends)

    def _tokenize_vector(self, strings):
        ids = self._get_graph_tokenizer()().tokenize(self._with_final_sigmas(strings))
        return ids.with_row_splits_dtype("int64")

    def _with_final_sigmas(self, strings):
        """Lower-cases the sigmas that depend on their neighbors."""
        import tensorflow as tf

        if not self.encoder.preprocessing["lowercase"]:
            return strings
        pattern = normalization.final_sigma_pattern()
        return tf.strings.regex_replace(strings, pattern, normalization.FINAL_SIGMA)

    def _build_graph_tokenizer(self):
        """Returns a function that gives TensorFlow's tokenizer.

        The fast one is twice as fast, and breaks ties as Python does, but does not know
        all kinds of models. The other one is made at each call: a SavedModel cannot use
        the resource of another graph, and outside of a graph TensorFlow may delete it.
        """
        import tensorflow_text as tf_text

        proto = self.encoder.fused_proto()
        if sentence_piece_model.peculiarities(proto):
            return functools.partial(tf_text.SentencepieceTokenizer, proto)
        fast = tf_text.FastSentencepieceTokenizer(proto)
        return lambda: fast
