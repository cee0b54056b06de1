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
    """Options of splitting text into words, as in BERT's tokenizers.

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
    """Splits strings `(n,)` in the TensorFlow graph, as `split_words` does in Python.

    Returns a ragged string tensor `(n, None)` of words.
    """
    import tensorflow as tf
    import tensorflow_text as tf_text

    def substitute(pattern, replacement, strings):
        return tf.strings.regex_replace(strings, pattern, replacement)

    lower = functools.partial(tf.strings.lower, encoding="utf-8")
    spaced = _space_words(strings, rules, substitute, lower, tf_text.normalize_utf8)
    return tf.strings.split(substitute(code_points(str.isspace), " ", spaced))


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


def _normalize(text, form):
    return unicodedata.normalize(form, text)


def _space_words(text, rules, substitute=re.sub, lower=str.lower, normalize=_normalize):
    """Returns the words of a text with white space between them.

    `text` is a str, or with TensorFlow's operations as the functions a tensor.
    """
    text = substitute(code_points(_is_dropped), "", text)
    if rules.split_chinese:
        text = substitute(f"({CHINESE})", r" \1 ", text)
    if rules.lowercase:
        text = lower(text)
    if rules.strip_accents:
        text = substitute(code_points(is_mark), "", normalize(text, "NFD"))
    return substitute(f"({code_points(_is_punctuation)})", r" \1 ", text)


# Replaces a character whose words depend on its neighbours. It is a noncharacter. If a
# text contains it nevertheless, the slow way gives the same words.
_DEPENDENT = "\ufdd1"


@functools.cache
def _spaced(rules):
    """Returns the words of each character, or `_DEPENDENT`."""

    def space(character):
        spaced = _space_words(character, rules)
        # A capital sigma has another lower case at the end of a word. NFD sorts combining
        # characters, and `is_mark` does not drop all of them.
        depends = (rules.lowercase and character == "Σ") or (
            rules.strip_accents and any(map(unicodedata.combining, spaced))
        )
        return _DEPENDENT if depends else spaced

    return CharacterTable(space)
