"""Google's `BasicTokenizer`: text to words, in Python and in the TensorFlow graph."""

import functools
import re
import string
import sys
import unicodedata

import numpy as np

from albert_keras.tokenizers.normalization import code_points
from albert_keras.tokenizers.words import NUM_ASCII, Boundaries

# The blocks that Google's `_is_chinese_char` names, Hangul and kana not among them.
CHINESE = (
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]"
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
    text = re.sub(CHINESE, r" \g<0> ", text)
    if lowercase:
        text = unicodedata.normalize("NFD", text.lower())
        text = re.sub(code_points(is_mark), "", text)
    return re.sub(code_points(_is_punctuation), r" \g<0> ", text).split()


def split_words_tensor(strings, lowercase):
    """Does in the TensorFlow graph what `split_words` does in Python.

    Args:
        strings: string tensor, a vector.
        lowercase: bool. Lower-cases and strips accents.

    Returns:
        Ragged string tensor, a row of words for each string.
    """
    import tensorflow as tf
    import tensorflow_text as tf_text

    replace = tf.strings.regex_replace
    strings = replace(strings, code_points(_is_dropped), "")
    strings = replace(strings, CHINESE, r" \0 ")
    if lowercase:
        strings = tf.strings.lower(strings, encoding="utf-8")
        strings = tf_text.normalize_utf8(strings, "NFD")
        strings = replace(strings, code_points(is_mark), "")
    strings = replace(strings, code_points(_is_punctuation), r" \0 ")
    return tf.strings.split(replace(strings, code_points(str.isspace), " "))


@functools.cache
def word_boundaries():
    """Returns the `Boundaries` of what `split_words` may be given bit by bit."""
    ascii_characters = [chr(code) for code in range(NUM_ASCII)]
    is_mark = np.array([c in string.punctuation for c in ascii_characters])
    is_space = np.array([c.isspace() for c in ascii_characters])
    pairs = is_mark & ~is_space[:, np.newaxis]
    characters = map(chr, range(sys.maxunicode + 1))
    is_chinese = np.array([re.match(CHINESE, c) is not None for c in characters])
    return Boundaries(pairs | pairs.T, is_chinese)


def is_mark(character):
    """Says whether `split_words` drops a character when it strips accents."""
    return unicodedata.category(character) == "Mn"


def _is_dropped(character):
    if character in "\t\n\r":
        return False
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf")


def _is_punctuation(character):
    # All ASCII symbols count, "$" and "^" as well.
    if character.isascii():
        return character in string.punctuation
    return unicodedata.category(character).startswith("P")
