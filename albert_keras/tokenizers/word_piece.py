"""BERT's WordPiece tokenizer, for Chinese ALBERT: in Python and in the graph."""

import functools
import os
import pathlib
import re
import string
import unicodedata

import keras
import numpy as np

from albert_keras.files import atomic_path
from albert_keras.tokenizers.base import Encoder, EncoderTokenizer, existing_file
from albert_keras.tokenizers.normalization import code_points

VOCABULARY_FILE = "vocabulary.txt"
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CONTINUATION = "##"
MAX_WORD_LENGTH = 200

# The blocks that Google's `_is_chinese_char` names, Hangul and kana not among them.
_CHINESE = (
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]"
)


class WordPieceEncoder(Encoder):
    """Text to WordPiece ids, as the original BERT and ALBERT code makes them.

    Args:
        vocabulary: list of str, with `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]` and `[MASK]`.
        lowercase: bool. Lower-cases and strips accents.
    """

    def __init__(self, vocabulary, *, lowercase):
        super().__init__(vocabulary, SPECIAL_TOKENS)
        self.lowercase = lowercase

    def tokenize_with_offsets(self, text):
        """Encodes one text and locates each token: see `EncoderTokenizer`."""
        spans = self._character_spans(text)
        ids, offsets = [], []
        end = 0
        for word in split_words(text, self.lowercase):
            word_ids = self._encode_word(word)
            ids.extend(word_ids)
            for length in self._token_lengths(word_ids, word):
                start, end = end, end + length
                offsets.append((spans[start][0], spans[end - 1][1]))
        return ids, offsets

    @functools.cached_property
    def word_starts(self):
        """Bool array `(vocabulary_size,)`: true where a token begins a word."""
        return np.array([not t.startswith(CONTINUATION) for t in self._vocabulary])

    def _encode_texts(self, texts):
        return [
            [
                index
                for word in split_words(text, self.lowercase)
                for index in self._encode_word(word)
            ]
            for text in texts
        ]

    def _encode_word(self, word):
        """Covers a word with the longest tokens, left to right, or says unknown."""
        unknown = [self.unk_token_id]
        if len(word) > MAX_WORD_LENGTH:
            return unknown
        ids = []
        start = 0
        while start < len(word):
            prefix = CONTINUATION if start else ""
            for end in range(len(word), start, -1):
                index = self._ids.get(prefix + word[start:end])
                if index is not None:
                    break
            else:
                return unknown
            ids.append(index)
            start = end
        return ids

    def _token_lengths(self, ids, word):
        if ids == [self.unk_token_id]:
            return [len(word)]
        first, *others = (self._vocabulary[index] for index in ids)
        return [len(first), *(len(t.removeprefix(CONTINUATION)) for t in others)]

    def _decode_rows(self, rows):
        texts = [" ".join(self._vocabulary[i] for i in row) for row in rows]
        return [text.replace(f" {CONTINUATION}", "") for text in texts]

    def _character_spans(self, text):
        """Finds where in `text` each character of its words, in a row, came from."""
        spans = []
        for position, character in enumerate(text):
            image = "".join(split_words(character, self.lowercase))
            spans.extend([(position, position + 1)] * len(image))
            if not image and spans and _is_mark(character):
                spans[-1] = (spans[-1][0], position + 1)
        return spans


@keras.saving.register_keras_serializable(package="albert_keras")
class WordPieceTokenizer(EncoderTokenizer):
    """BERT's tokenizer, with which Chinese ALBERT was trained.

    Splits text as Google's `BasicTokenizer` (control characters dropped, Chinese
    characters and punctuation apart, accents stripped), then words into the longest
    tokens there are. keras-hub's tokenizer of this name differs: it case-folds, makes
    control characters split words, knows only ASCII white space and gives up on words
    of over 100 bytes.

    Args:
        vocabulary: str, path or list of str. A file of one token a line, or the tokens,
            with `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]` and `[MASK]`. `None` waits for a
            preset's.
        lowercase: bool. Lower-cases and strips accents, for an uncased vocabulary.

    Input shape: strings, `(...)`.

    Output shape: ids, `(..., None)`.

    Raises:
        ValueError: If there is no such file or a special token is missing.

    Example:

    >>> tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "好"]
    >>> tokenizer = WordPieceTokenizer(tokens)
    >>> tokenizer("Playing好好")
    [5, 6, 7, 7]

    Reference: google-research/albert `tokenization.py`, `BasicTokenizer` and
    `WordpieceTokenizer`.
    """

    def __init__(self, vocabulary=None, lowercase=True, **kwargs):
        super().__init__(**kwargs)
        self.file_assets = [VOCABULARY_FILE]
        self.lowercase = lowercase
        self.set_vocabulary(vocabulary)

    def set_vocabulary(self, vocabulary):
        """Takes a vocabulary: a path or a list of tokens, or `None` for none."""
        self._graph_tokenizer = None
        if isinstance(vocabulary, (str, os.PathLike)):
            vocabulary = _read_vocabulary(vocabulary)
        if vocabulary is None:
            self._set_encoder(None)
        else:
            encoder = WordPieceEncoder(list(vocabulary), lowercase=self.lowercase)
            self._set_encoder(encoder)

    def save_assets(self, dir_path):
        with atomic_path(pathlib.Path(dir_path, VOCABULARY_FILE)) as temporary:
            lines = [f"{token}\n" for token in self.encoder.get_vocabulary()]
            temporary.write_text("".join(lines), encoding="utf-8")

    def load_assets(self, dir_path):
        self.set_vocabulary(pathlib.Path(dir_path, VOCABULARY_FILE))

    def get_config(self):
        # The vocabulary itself is saved as an asset.
        return {**super().get_config(), "vocabulary": None, "lowercase": self.lowercase}

    def _tokenize_vector(self, strings):
        import tensorflow as tf

        self._build_graph_side()
        words = _split_words_tensor(strings, self.lowercase)
        too_long = tf.strings.length(words.flat_values, "UTF8_CHAR") > MAX_WORD_LENGTH
        unknown = self.encoder.special_tokens[1]
        words = words.with_flat_values(tf.where(too_long, unknown, words.flat_values))
        return self._graph_tokenizer.tokenize(words).merge_dims(1, 2)

    def _build_graph_side(self):
        if self._graph_tokenizer is not None:
            return
        import tensorflow as tf
        import tensorflow_text as tf_text

        # Outside of the function being traced, which would keep the tensors to itself.
        with tf.init_scope():
            self._graph_tokenizer = tf_text.FastWordpieceTokenizer(
                self.encoder.get_vocabulary(),
                max_bytes_per_word=4 * MAX_WORD_LENGTH,
                token_out_type=tf.int32,
                unknown_token=self.encoder.special_tokens[1],
                no_pretokenization=True,
            )


def split_words(text, lowercase):
    """Splits text into words, Chinese characters and punctuation marks.

    Args:
        text: str.
        lowercase: bool. Lower-cases and strips accents.

    Returns:
        List of str.

    Example:

    >>> split_words("Café, 你好", lowercase=True)
    ['cafe', ',', '你', '好']
    """
    text = re.sub(code_points(_is_dropped), "", text)
    text = re.sub(_CHINESE, r" \g<0> ", text)
    if lowercase:
        text = unicodedata.normalize("NFD", text.lower())
        text = re.sub(code_points(_is_mark), "", text)
    return re.sub(code_points(_is_punctuation), r" \g<0> ", text).split()


def _split_words_tensor(strings, lowercase):
    """Does what `split_words` does to a vector of strings; gives a ragged tensor."""
    import tensorflow as tf
    import tensorflow_text as tf_text

    replace = tf.strings.regex_replace
    strings = replace(strings, code_points(_is_dropped), "")
    strings = replace(strings, _CHINESE, r" \0 ")
    if lowercase:
        strings = tf.strings.lower(strings, encoding="utf-8")
        strings = tf_text.normalize_utf8(strings, "NFD")
        strings = replace(strings, code_points(_is_mark), "")
    strings = replace(strings, code_points(_is_punctuation), r" \0 ")
    return tf.strings.split(replace(strings, code_points(str.isspace), " "))


def _is_dropped(character):
    if character in "\t\n\r":
        return False
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf")


def _is_mark(character):
    return unicodedata.category(character) == "Mn"


def _is_punctuation(character):
    # All ASCII symbols count, "$" and "^" as well.
    if character.isascii():
        return character in string.punctuation
    return unicodedata.category(character).startswith("P")


def _read_vocabulary(path):
    try:
        with open(existing_file(path, "vocabulary"), encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file]
    except UnicodeDecodeError as error:
        raise ValueError(
            "`vocabulary` must be a UTF-8 text file of one token a line. "
            f"Received: vocabulary={str(path)!r}."
        ) from error
