"""Words of running text with their places, as taggers read them and answers end."""

import re
import unicodedata

from albert_keras.tokenizers.normalization import CharacterTable
from albert_keras.tokenizers.word_splitting import CHINESE

# Chinese characters and kana: scripts without spaces.
UNSPACED = f"{CHINESE[:-1]}\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]"

# Kinds of characters, each an ASCII character, so that this rule has one expression for
# Python and TensorFlow. `\b` and `\B` see letters, digits and marks by their kinds too.
_GROUPS = ("'’", "-\u2010\u2011", "&@", ",:/", "sS", ".", "w_")
_NAMED = {character: group[0] for group in _GROUPS for character in group}
# Unspaced ones are `u`, letters `w`, digits `d`, marks and invisible ones `e`, all
# others `!`.
_IN_WORD = "[wsde]"
# Letters and digits; with `,`, `:` and `/` numbers; of single letters with full stops an
# abbreviation.
_PART = rf"(?:(?:[ws]\.){{2,}}\B|d+(?:,d+)+{_IN_WORD}*|{_IN_WORD}+)"
# A word may hold single `-`, `.`, `&`, `@` and apostrophes, but begins anew at `'s`.
_JOINED = rf"(?:[-.&]{_PART}|'(?:[wde]|s{_IN_WORD}){_IN_WORD}*)"
# Of kinds; all but spaces are in a word.
WORD = rf"{_PART}{_JOINED}*|'s\b|\.+|-+|[^ ]"

# Scripts whose words have spaces around them. Korean joins particles to nouns.
_SPACED = re.compile("[\0-\u0dff\u1e00-\u1fff]")


def locate_words(text):
    """Returns the places of the words of a text, a list of `(start, end)`.

    As the rows of CoNLL have them, as far as a rule can: punctuation is apart, but for a
    mark within a word (`U.S.`, `3.14`, `UK-based`), and `'s` is a word. Where there is no
    white space around Chinese or Japanese, each character is a word.

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
    """Returns a str that has `w` for what is spelt together, of the scripts with spaces.

    These are letters, digits and marks; other characters are spaces, and one at the end.
    """
    return text.translate(_SPELLING) + " "


def whole_words(spelling, start, end):
    """Returns places in a text with some `spelling_of` it, extended to whole words.

    >>> whole_words(spelling_of("Ann sang."), 1, 2)
    (0, 3)
    """
    if spelling[start] == "w":
        start = spelling.rfind(" ", 0, start) + 1
    return start, spelling.find(" ", end) if spelling[end - 1] == "w" else end


def is_spelling(character):
    """Whether an answer does not end between two such characters."""
    return bool(_SPACED.match(character)) and kind_of(character) in "wsde"


_KINDS = CharacterTable(kind_of)
_SPELLING = CharacterTable(lambda character: "w" if is_spelling(character) else " ")
