"""Google's text preprocessing: in Python, with spans, and in the TensorFlow graph."""

import functools
import re
import sys
import unicodedata


def preprocess_text(text, lowercase=True, strip_accents=True, huggingface_quotes=False):
    r"""Normalizes text as ALBERT's pretraining data was normalized.

    The released vocabularies were trained on text normalized in this way; other text
    becomes many small and unknown pieces.

    Args:
        text: str.
        lowercase: bool. Lower-cases, last.
        strip_accents: bool. Decomposes (NFKD) and drops combining marks. `False` keeps
            the text composed, for vocabularies trained with accents.
        huggingface_quotes: bool. Turns ` `` ` and `''` into `"`, as transformers does
            and Google's code does not.

    Returns:
        str.

    Example:

    >>> preprocess_text("  The\tCafé  ")
    'the cafe'

    Reference: google-research/albert `tokenization.py`, `preprocess_text`.
    """
    # The test is cheap and most lines pass it: a space is the only white space that is
    # printable.
    if text.isprintable() and "  " not in text:
        text = text.strip()
    else:
        text = " ".join(text.split())
    if huggingface_quotes:
        text = _DOUBLED_QUOTES.sub('"', text)
    if strip_accents:
        text = _decompose(text)
    return text.lower() if lowercase else text


def preprocess_with_spans(text, *, lowercase, strip_accents, huggingface_quotes):
    """Preprocesses text and returns the span in it of each character of the result.

    Args:
        text: str.
        lowercase, strip_accents, huggingface_quotes: as for `preprocess_text`.

    Returns:
        Tuple of the preprocessed str and, for each of its characters, the `(start,
        end)` of its source in `text`. A dropped mark belongs to the character before it.
    """
    end_of_text = len(text.rstrip())
    start_of_text = len(text) - len(text.lstrip())
    units = _UNITS_AND_QUOTES if huggingface_quotes else _UNITS
    characters, spans = [], []
    for unit in units.finditer(text, start_of_text, end_of_text):
        image = _unit_image(unit.group(), strip_accents)
        if not image and spans:
            spans[-1] = (spans[-1][0], unit.end())
        characters.extend(image)
        spans.extend([unit.span()] * len(image))
    preprocessed = "".join(characters)
    if lowercase:
        # The whole text at once, because a Greek final sigma depends on its neighbours;
        # the lengths do not.
        preprocessed = preprocessed.lower()
        lengths = [len(character.lower()) for character in characters]
        spans = [span for span, n in zip(spans, lengths, strict=True) for _ in range(n)]
    return preprocessed, spans


def preprocess_tensor(strings, *, lowercase, strip_accents, huggingface_quotes):
    r"""Preprocesses strings in the TensorFlow graph as `preprocess_text` does in Python.

    The character classes list their code points, because RE2's `\s` and `\p{Mn}` and
    ICU's case folding differ from Python. Known differences: text with an embedded NUL,
    and the lower case of characters newer than Unicode 13.

    Args:
        strings: string tensor of any shape.
        lowercase, strip_accents, huggingface_quotes: as for `preprocess_text`.

    Returns:
        String tensor of the same shape.
    """
    import tensorflow as tf
    import tensorflow_text as tf_text

    strings = tf.strings.regex_replace(strings, code_points(str.isspace) + "+", " ")
    strings = tf.strings.strip(strings)
    if huggingface_quotes:
        strings = tf.strings.regex_replace(strings, _DOUBLED_QUOTES.pattern, '"')
    if strip_accents:
        strings = tf_text.normalize_utf8(strings, "NFKD")
        marks = code_points(unicodedata.combining)
        strings = tf.strings.regex_replace(strings, marks, "")
    return tf.strings.lower(strings, encoding="utf-8") if lowercase else strings


@functools.cache
def code_points(predicate):
    """Returns a regular expression class of the code points that satisfy `predicate`.

    Python's `re` and RE2 both read it. The first call scans all of Unicode.

    Args:
        predicate: function of a one-character str.

    Example:

    >>> re.sub(code_points(str.isspace), "_", "ideographic" + chr(0x3000) + "space")
    'ideographic_space'
    """
    matching = [c for c in map(chr, range(sys.maxunicode + 1)) if predicate(c)]
    ranges = []
    for character in matching:
        if ranges and ord(character) == ord(ranges[-1][1]) + 1:
            ranges[-1][1] = character
        else:
            ranges.append([character, character])
    return "[" + "".join(f"{_escape(a)}-{_escape(b)}" for a, b in ranges) + "]"


_DOUBLED_QUOTES = re.compile(r"``|''")
_UNITS = re.compile(r"\s+|\S")
_UNITS_AND_QUOTES = re.compile(rf"\s+|{_DOUBLED_QUOTES.pattern}|\S")


def _unit_image(unit, strip_accents):
    if unit.isspace():
        return " "
    if len(unit) == 2:
        return '"'
    return _decompose(unit) if strip_accents else unit


class _Decompositions(dict):
    """Maps code points to NFKD without combining marks, computed at the first use.

    For `str.translate`. NFKD of a text is that of its characters, but for the order of
    combining marks, which are dropped.
    """

    def __missing__(self, code_point):
        decomposed = unicodedata.normalize("NFKD", chr(code_point))
        kept = "".join(c for c in decomposed if not unicodedata.combining(c))
        self[code_point] = kept
        return kept


_DECOMPOSITIONS = _Decompositions()


def _decompose(text):
    """Applies NFKD and drops combining marks."""
    return text if text.isascii() else text.translate(_DECOMPOSITIONS)


def _escape(character):
    return re.escape(character) if character.isascii() else character
