"""Words of running text and their spans, for taggers and for the ends of answers."""

import re
import unicodedata

from albert_keras.tokenizers.normalization import CharacterTable
from albert_keras.tokenizers.word_splitting import CHINESE

# Chinese characters and kana: scripts without spaces.
UNSPACED = f"{CHINESE[:-1]}\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]"

# Kinds of characters. A kind is an ASCII character, so that Python and TensorFlow share
# one regular expression, and `\b` and `\B` know letters, digits and marks by their kinds.
_GROUPS = ("'’", "-\u2010\u2011", "&@", ",:/", "sS", ".", "w_")
_NAMED = {character: group[0] for group in _GROUPS for character in group}
# The other kinds: unspaced `u`, letters `w`, digits `d`, marks and invisible characters
# `e`, all others `!`.
_IN_WORD = "[wsde]"
# An abbreviation of single letters with full stops; a number with `,`, `:` and `/`; or
# letters and digits.
_PART = rf"(?:(?:[ws]\.){{2,}}\B|d+(?:,d+)+{_IN_WORD}*|{_IN_WORD}+)"
# A word may hold single `-`, `.`, `&`, `@` and apostrophes, but `'s` begins a new word.
_JOINED = rf"(?:[-.&]{_PART}|'(?:[wde]|s{_IN_WORD}){_IN_WORD}*)"
# Expression of kinds. It covers all characters but spaces.
WORD = rf"{_PART}{_JOINED}*|'s\b|\.+|-+|[^ ]"

# Scripts whose words have spaces around them. Korean joins particles to nouns.
_SPACED = re.compile("[\0-\u0dff\u1e00-\u1fff]")


def locate_words(text):
    """Returns the spans of the words of a text, a list of `(start, end)`.

    The rule approximates CoNLL's words: punctuation is separate, except within a word
    (`U.S.`, `3.14`, `UK-based`), and `'s` is a word. In a chunk with Chinese or Japanese
    characters, each character is a word.

    >>> text = "(Acme Corp.) is Ann's, 住在NY"
    >>> [text[start:end] for start, end in locate_words(text)]
    ['(', 'Acme', 'Corp', '.', ')', 'is', 'Ann', "'s", ',', '住', '在', 'N', 'Y']
    """
    kinds = text.translate(_KINDS)
    kinds = re.sub("[^ ]+", lambda x: "u" * len(x[0]) if "u" in x[0] else x[0], kinds)
    return [word.span() for word in re.finditer(WORD, kinds)]


def kind_of(character):
    """Returns the kind of a character in `WORD`, one ASCII character."""
    if character in _NAMED:
        return _NAMED[character]
    if character.isspace():
        return " "
    if re.match(UNSPACED, character):
        return "u"
    if character.isalnum():
        return "d" if character.isdecimal() else "w"
    category = unicodedata.category(character)
    return "e" if category.startswith("M") or category == "Cf" else "!"


def spelling_of(text):
    """Returns a str with `w` for each character that `is_spelling`, a space for others.

    There is one more space at the end.
    """
    return text.translate(_SPELLING) + " "


def whole_words(spelling, start, end):
    """Returns a span, extended to whole words of a text, given its `spelling_of`.

    >>> whole_words(spelling_of("Ann sang."), 1, 2)
    (0, 3)
    """
    if spelling[start] == "w":
        start = spelling.rfind(" ", 0, start) + 1
    return start, spelling.find(" ", end) if spelling[end - 1] == "w" else end


def is_spelling(character):
    """Whether an answer cannot end between two such characters.

    They are the letters, digits and marks of scripts with spaces between words.
    """
    return bool(_SPACED.match(character)) and kind_of(character) in "wsde"


_KINDS = CharacterTable(kind_of)
_SPELLING = CharacterTable(lambda character: "w" if is_spelling(character) else " ")
