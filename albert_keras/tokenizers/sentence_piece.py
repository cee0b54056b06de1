"""ALBERT's SentencePiece tokenizer, in Python and in the TensorFlow graph."""

import functools
import pathlib

import keras
import numpy as np

from albert_keras.files import atomic_path
from albert_keras.tokenizers import normalization, sentence_piece_model
from albert_keras.tokenizers.base import Encoder, EncoderTokenizer
from albert_keras.tokenizers.sentence_piece_model import (
    MASK,
    MASK_CHARACTER,
    WORD_MARKER,
)

PROTO_FILE = "vocabulary.spm"
SPECIAL_PIECES = ("<pad>", "<unk>", "[CLS]", "[SEP]", MASK)

# As long as what it stands for, so that offsets hold.
MASK_STAND_IN = MASK_CHARACTER.rjust(len(MASK))

# The punctuation of Google's `_is_start_piece_sp`: `'`, `<`, `=`, `>` are not in it.
_WORD_START_MARKS = frozenset('!"#$%&()*+,-./:;?@[\\]^_`{|}~')
_WORD_CHARACTERS = _WORD_START_MARKS | frozenset("abcdefghijklmnopqrstuvwxyz")


class SentencePieceEncoder(Encoder):
    """Text to SentencePiece ids, as the original ALBERT code makes them.

    Args:
        proto: bytes. A SentencePiece model with the pieces `<pad>`, `<unk>`, `[CLS]`,
            `[SEP]` and `[MASK]`.
        lowercase, strip_accents, huggingface_quotes, split_digit_comma, mask_in_text:
            as for `AlbertTokenizer`.
    """

    def __init__(
        self,
        proto,
        *,
        lowercase,
        strip_accents,
        huggingface_quotes,
        split_digit_comma,
        mask_in_text,
    ):
        processor = sentence_piece_model.load_processor(proto)
        pieces = processor.IdToPiece(list(range(len(processor))))
        super().__init__(pieces, SPECIAL_PIECES)
        self.proto = proto
        self.preprocessing = {
            "lowercase": lowercase,
            "strip_accents": strip_accents,
            "huggingface_quotes": huggingface_quotes,
        }
        self.mask_in_text = mask_in_text
        self.running_proto = proto
        if mask_in_text:
            self.running_proto = sentence_piece_model.with_mask_for_text(proto)
        self._processor = sentence_piece_model.load_processor(self.running_proto)
        self._digit_commas = self._find_digit_commas() if split_digit_comma else {}
        self.digit_comma_splits = {
            index: [self._processor.PieceToId(piece) for piece in pieces]
            for index, pieces in self._digit_commas.items()
        }

    def tokenize_with_offsets(self, text):
        """Encodes one text and locates each token: see `EncoderTokenizer`."""
        prepared, spans = normalization.preprocess_with_spans(
            self._stand_in_masks(text), **self.preprocessing
        )
        encoded = self._processor.EncodeAsOffsetMapping(prepared)
        ids, offsets = [], []
        for index, (start, end) in zip(encoded["ids"], encoded["offsets"], strict=True):
            start, end = _trim(prepared, start, end)
            ids.extend(self.digit_comma_splits.get(index, [index]))
            for part_start, part_end in self._locate_parts(index, prepared[start:end]):
                offset = _original_span(spans, start + part_start, start + part_end)
                offsets.append(offset)
            if index == self.mask_token_id:
                offsets[-1] = (offsets[-1][0] - len(MASK) + 1, offsets[-1][1])
        return ids, offsets

    @functools.cached_property
    def word_starts(self):
        """Bool array `(vocabulary_size,)`: true where a piece begins a word.

        Reference: google-research/albert `create_pretraining_data.py`,
        `_is_start_piece_sp`; a special piece is a word of its own.
        """
        return np.array(
            [
                piece in self.special_tokens or _starts_word(piece)
                for piece in self._vocabulary
            ]
        )

    def fused_proto(self):
        """Returns a SentencePiece model that does ALBERT's preprocessing by itself.

        For TFLite, which runs SentencePiece but no other string operation. Its ids are
        those of `encode_batch` before the digit-comma rule, save for text with an
        embedded NUL or a Greek final sigma.

        Returns:
            Bytes of the model.
        """
        replacements = {MASK: f" {MASK_CHARACTER}"} if self.mask_in_text else {}
        return sentence_piece_model.with_preprocessing(
            self.running_proto, replacements, **self.preprocessing
        )

    def _encode_texts(self, texts):
        prepared = [
            normalization.preprocess_text(
                self._stand_in_masks(text), **self.preprocessing
            )
            for text in texts
        ]
        rows = self._processor.Encode(prepared)
        return [self._split_digit_commas(row) for row in rows]

    def _decode_rows(self, rows):
        return self._processor.Decode(rows) if rows else []

    def _stand_in_masks(self, text):
        return text.replace(MASK, MASK_STAND_IN) if self.mask_in_text else text

    def _split_digit_commas(self, ids):
        if self.digit_comma_splits.keys().isdisjoint(ids):
            return ids
        return [new for old in ids for new in self.digit_comma_splits.get(old, (old,))]

    def _find_digit_commas(self):
        """Finds the pieces such as `▁2012,` and the pieces that take their place.

        Google's code re-encodes them in each text, but the outcome depends on the piece
        alone. A word marker that re-encoding puts in front comes off again, as Google's
        code means it (in Python 3 it compares bytes with str) and transformers does it.
        """
        found = {}
        for index, piece in enumerate(self._vocabulary):
            if len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit():
                text = piece[:-1].replace(WORD_MARKER, "")
                head = self._processor.EncodeAsPieces(text)
                if not piece.startswith(WORD_MARKER):
                    head[0] = head[0].removeprefix(WORD_MARKER)
                found[index] = [*filter(None, head), ","]
        return found

    def _locate_parts(self, index, text):
        """Yields the spans, in `text`, of the tokens that piece `index` becomes."""
        if index not in self._digit_commas:
            yield 0, len(text)
            return
        normalized, positions = self._processor.Normalize(text, with_offsets=True)
        lengths = [len(p.removeprefix(WORD_MARKER)) for p in self._digit_commas[index]]
        end = len(normalized) - sum(lengths)
        for length in lengths:
            start, end = end, end + length
            yield positions[start], positions[end]


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTokenizer(EncoderTokenizer):
    """ALBERT's tokenizer: Google's preprocessing, then SentencePiece.

    Python strings, in Python, and TensorFlow string tensors, in the graph (`tf.data`,
    SavedModel), give the same ids, but for what `preprocess_tensor` names and for a
    choice between segmentations of equal score, as `8 88` and `88 8`, which rounding
    makes: in 2 of 103,387 lines of English and Chinese.

    Args:
        proto: str, path or bytes. A SentencePiece model, with the pieces `<pad>`,
            `<unk>`, `[CLS]`, `[SEP]` and `[MASK]`. `None` waits for a preset's.
        lowercase: bool. `True` for the released English vocabulary.
        strip_accents: bool. Decomposes characters and drops combining marks, as the
            released models need it; `False` for vocabularies trained with accents.
        huggingface_quotes: bool. Turns ` `` ` and `''` into `"`, as transformers does
            and Google's code does not.
        split_digit_comma: bool. Splits pieces such as `▁2012,` into `▁2012` and `,`.
        mask_in_text: bool. Reads `[MASK]` in text, with white space before it, as the
            mask token; otherwise it is text like any other.

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
        """Takes a SentencePiece model: a path or bytes, or `None` for none."""
        self._graph_tokenizer = self._graph_splits = None
        if proto is None:
            self._set_encoder(None)
        else:
            proto = sentence_piece_model.read_proto(proto)
            self._set_encoder(SentencePieceEncoder(proto, **self._options))

    def fused_proto(self):
        """Returns a model that preprocesses by itself: see `SentencePieceEncoder`."""
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
        # Outside of the function being traced, which would keep the tensors to itself.
        with tf.init_scope():
            self._graph_tokenizer = tf_text.FastSentencepieceTokenizer(
                self.encoder.running_proto
            )
            if splits:
                rows = [splits.get(i, [i]) for i in range(self.vocabulary_size())]
                self._graph_splits = tf.RaggedTensor.from_row_lengths(
                    np.concatenate(rows).astype("int32"), [len(row) for row in rows]
                )


def _starts_word(piece):
    return (
        piece.startswith((WORD_MARKER, "<"))
        or piece in _WORD_START_MARKS
        or not all(character.lower() in _WORD_CHARACTERS for character in piece)
    )


def _trim(text, start, end):
    """Takes the spaces off both ends of `text[start:end]`."""
    while start < end and text[start] == " ":
        start += 1
    while start < end and text[end - 1] == " ":
        end -= 1
    return start, end


def _original_span(spans, start, end):
    if start < end:
        return spans[start][0], spans[end - 1][1]
    # A word marker alone stands before a character, or at the end of the text.
    point = spans[start][0] if start < len(spans) else spans[-1][1]
    return point, point
