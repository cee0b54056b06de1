"""ALBERT's SentencePiece tokenizer, in Python and in the TensorFlow graph."""

import pathlib

import keras
import numpy as np

from albert_keras.files import atomic_path
from albert_keras.tokenizers import normalization, sentence_piece_model
from albert_keras.tokenizers.base import EncoderTokenizer
from albert_keras.tokenizers.sentence_piece_encoder import (
    MASK_STAND_IN,
    SentencePieceEncoder,
)

PROTO_FILE = "vocabulary.spm"


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTokenizer(EncoderTokenizer):
    """ALBERT's tokenizer: Google's preprocessing, then SentencePiece.

    Python strings (encoded in Python) and TensorFlow string tensors (encoded in the
    graph: `tf.data`, SavedModel) give the same ids, with two exceptions: the differences
    that `preprocess_tensor` lists, and segmentations of equal score, such as `8 88` and
    `88 8`, where rounding decides (2 of 103,387 lines of English and Chinese).

    Args:
        proto: str, path or bytes. A SentencePiece model, with the pieces `<pad>`,
            `<unk>`, `[CLS]`, `[SEP]` and `[MASK]`. `None` until a preset is loaded.
        lowercase: bool. `True` for the released English vocabulary.
        strip_accents: bool. Decomposes characters and drops combining marks, which the
            released models need; `False` for vocabularies trained with accents.
        huggingface_quotes: bool. Turns ` `` ` and `''` into `"`, as transformers does
            and Google's code does not.
        split_digit_comma: bool. Splits pieces such as `▁2012,` into `▁2012` and `,`.
        mask_in_text: bool. Encodes `[MASK]` in text, with white space before it, as the
            mask token; otherwise as ordinary text.

    Input shape: strings, `(...)`.

    Output shape: ids, `(..., None)`.

    Raises:
        ValueError: If `proto` is not a SentencePiece model with these pieces.

    Example:

    >>> from albert_keras.tokenizers import train_sentence_piece
    >>> text = ["the quick brown fox", "the lazy dog", "a quick dog, a lazy fox"]
    >>> tokenizer = AlbertTokenizer(train_sentence_piece(text, 36))
    >>> tokenizer.detokenize(tokenizer("The lazy FOX"))
    'the lazy fox'

    Reference: Lan et al. 2020, section 3.1 (tokenized with SentencePiece as in XLNet);
    google-research/albert `tokenization.py`, `encode_pieces`.
    """

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
        self._graph_tokenizer = self._graph_splits = None
        if proto is None:
            self._set_encoder(None)
        else:
            proto = sentence_piece_model.read_proto(proto)
            self._set_encoder(SentencePieceEncoder(proto, **self._options))

    def fused_proto(self):
        """Returns a model with preprocessing compiled in: see `SentencePieceEncoder`."""
        return self.encoder.fused_proto()

    def save_assets(self, dir_path):
        with atomic_path(pathlib.Path(dir_path, PROTO_FILE)) as temporary:
            temporary.write_bytes(self.encoder.proto)

    def load_assets(self, dir_path):
        self.set_proto(pathlib.Path(dir_path, PROTO_FILE))

    def get_config(self):
        # The model itself is saved as an asset.
        return {**super().get_config(), "proto": None, **self._options}

    def _tokenize_vector(self, strings):
        import tensorflow as tf

        self._build_graph_side()
        if self.encoder.mask_in_text:
            strings = tf.strings.regex_replace(strings, r"\[MASK\]", MASK_STAND_IN)
        strings = normalization.preprocess_tensor(strings, **self.encoder.preprocessing)
        ids = self._graph_tokenizer.tokenize(strings).with_row_splits_dtype(tf.int64)
        if self._graph_splits is not None:
            ids = tf.gather(self._graph_splits, ids).merge_dims(1, 2)
        return ids

    def _build_graph_side(self):
        if self._graph_tokenizer is not None:
            return
        import tensorflow as tf
        import tensorflow_text as tf_text

        splits = self.encoder.digit_comma_splits
        # Outside of the traced function: its tensors cannot be used by other functions.
        with tf.init_scope():
            self._graph_tokenizer = tf_text.FastSentencepieceTokenizer(
                self.encoder.running_proto
            )
            if splits:
                rows = [splits.get(i, [i]) for i in range(self.vocabulary_size())]
                self._graph_splits = tf.RaggedTensor.from_row_lengths(
                    np.concatenate(rows).astype("int32"), [len(row) for row in rows]
                )
