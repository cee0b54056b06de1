"""Google's `BasicTokenizer`: text to words, in Python and in the TensorFlow graph."""

import functools
import re
import string
import unicodedata
from typing import NamedTuple

from albert_keras.tokenizers.normalization import CharacterTable, code_points

# The blocks of Google's `_is_chinese_char`, without Hangul and kana.
CHINESE = (
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\uf900-\ufaff\U0002f800-\U0002fa1f]"
)


class WordRules(NamedTuple):
    """Options of the splitting of text into words, those of BERT's tokenizers.

    Attributes:
        lowercase: bool. Lower-cases.
        strip_accents: bool. Decomposes characters and drops combining marks.
        split_chinese: bool. Whether each Chinese character is a word.
    """

    lowercase: bool = True
    strip_accents: bool = True
    split_chinese: bool = True


def split_words(text, rules):
    """Splits text into words, Chinese characters and punctuation marks.

    >>> split_words("Café, 你好", WordRules())
    ['cafe', ',', '你', '好']
    """
    spaced = text.translate(_spaced(rules))
    if _DEPENDENT in spaced:
        spaced = _space_words(text, rules)
    return spaced.split()


def split_words_tensor(strings, rules):
    """Splits a vector of strings in the TensorFlow graph, as `split_words` in Python.

    Returns a ragged string tensor, a row of words for each string.
    """
    import tensorflow as tf
    import tensorflow_text as tf_text

    replace = tf.strings.regex_replace
    strings = replace(strings, code_points(_is_dropped), "")
    if rules.split_chinese:
        strings = replace(strings, CHINESE, r" \0 ")
    if rules.lowercase:
        strings = tf.strings.lower(strings, encoding="utf-8")
    if rules.strip_accents:
        strings = tf_text.normalize_utf8(strings, "NFD")
        strings = replace(strings, code_points(is_mark), "")
    strings = replace(strings, code_points(_is_punctuation), r" \0 ")
    return tf.strings.split(replace(strings, code_points(str.isspace), " "))


def is_mark(character):
    """Whether `split_words` drops a character when it strips accents."""
    return unicodedata.category(character) == "Mn"


def _is_dropped(character):
    if character in "\t\n\r":
        return False
    return character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf")


def _is_punctuation(character):
    # All ASCII symbols count, also "$" and "^".
    if character.isascii():
        return character in string.punctuation
    return unicodedata.category(character).startswith("P")


def _space_words(text, rules):
    """Returns the words of a text with white space between them."""
    text = re.sub(code_points(_is_dropped), "", text)
    if rules.split_chinese:
        text = re.sub(CHINESE, r" \g<0> ", text)
    if rules.lowercase:
        text = text.lower()
    if rules.strip_accents:
        text = re.sub(code_points(is_mark), "", unicodedata.normalize("NFD", text))
    return re.sub(code_points(_is_punctuation), r" \g<0> ", text)


# Stands for a character whose result depends on its neighbours. A noncharacter: if a
# text contains it nevertheless, the text takes the slow way, with the same result.
_DEPENDENT = "\ufdd1"


@functools.cache
def _spaced(rules):
    """Returns the words of each character, or `_DEPENDENT`."""

    def space(character):
        spaced = _space_words(character, rules)
        # A capital sigma has another lower case at the end of a word, and NFD sorts
        # combining characters, of which `is_mark` does not drop all.
        depends = (rules.lowercase and character == "Σ") or (
            rules.strip_accents and any(map(unicodedata.combining, spaced))
        )
        return _DEPENDENT if depends else spaced

    return CharacterTable(space)
