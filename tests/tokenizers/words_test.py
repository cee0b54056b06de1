"""Words, and the normalization of text."""

import sys
import unicodedata

import pytest

from albert_keras.tokenizers.normalization import preprocess_tensor, preprocess_text
from albert_keras.tokenizers.words import (
    is_spelling,
    locate_words,
    spelling_of,
    whole_words,
)


@pytest.mark.parametrize(
    "words",
    [
        "( Acme Corp . ) in Berlin .",
        "Ann 's dog , O'Neill 's , didn't bark '",
        "' sun ' and dogs '",
        "$ 1,000.50 at 10:30 a.m. -- in the U.S. ... he said",
        "the U.S.-led AT&T and a mother-in-law , ann@example.com !",
        "e\u0301te\u0301 _x_ 한국은 1 % ( a / b )",
        "住 在 N Y 。 etc .",
    ],
)
def test_punctuation_is_apart_as_in_the_rows_of_conll(words):
    words = words.split()
    # With the spaces that a text has, and with all that may be left out.
    for text in (" ".join(words), "\t" + "\u3000 ".join(words) + "\n"):
        assert [text[start:end] for start, end in locate_words(text)] == words
    text = "(Acme Corp.) in Berlin."
    found = ["(", "Acme", "Corp", ".", ")", "in", "Berlin", "."]
    assert [text[start:end] for start, end in locate_words(text)] == found


def test_answers_end_between_words_where_a_script_has_them():
    assert all(map(is_spelling, "aéЖש1_\u0301"))
    assert not any(map(is_spelling, " -.'北か한ไ"))
    text = "Ann's well-known dog"
    places = [(1, 2), (4, 7), (11, 14), (18, 19), (3, 10)]
    expected = ["Ann", "s well", "known", "dog", "'s well"]
    places = [whole_words(spelling_of(text), *place) for place in places]
    assert [text[start:end] for start, end in places] == expected


# === Google's text preprocessing, in Python and in the TensorFlow graph ===


GOOGLE = {"lowercase": True, "strip_accents": True, "huggingface_quotes": False}
OPTIONS = [
    GOOGLE,
    {**GOOGLE, "lowercase": False},
    {**GOOGLE, "strip_accents": False},
    {**GOOGLE, "huggingface_quotes": True},
]


def google_preprocess_text(text):
    """The steps of google-research/albert `tokenization.py`, one by one."""
    text = " ".join(text.strip().split())
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if not unicodedata.combining(c))
    return text.lower()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  The\t Café\n", "the cafe"),
        ("İstanbul", "istanbul"),
        ("STRASSE Straße", "strasse straße"),
        ("ΟΔΟΣ", "οδος"),
        ("½ ﬁ Ａ", "1⁄2 fi a"),
        ("``a''", "``a''"),
        ("a\0b", "a\0b"),
        ("¨", " "),
    ],
)
def test_golden_texts(text, expected):
    assert preprocess_text(text) == expected


def test_equals_google(corpus_lines, stress_texts):
    for text in corpus_lines + stress_texts:
        assert preprocess_text(text) == google_preprocess_text(text)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_graph_equals_python(options, corpus_lines, stress_texts):
    texts = corpus_lines[::5] + stress_texts
    graph = [t.decode() for t in preprocess_tensor(texts, **options).numpy()]
    expected = [preprocess_text(text, **options) for text in texts]
    assert graph == expected


def test_graph_equals_python_on_every_character():
    characters = [
        chr(code)
        for code in range(1, sys.maxunicode + 1)
        if unicodedata.category(chr(code)) not in ("Cs", "Cn", "Co")
    ]
    graph = [t.decode() for t in preprocess_tensor(characters, **GOOGLE).numpy()]
    pairs = zip(characters, graph, strict=True)
    different = [c for c, image in pairs if image != preprocess_text(c)]
    # TensorFlow's lower-casing knows Unicode 13: 40 capitals of Unicode 14 stay as they
    # are, 35 of them of one script of Albania's nineteenth century.
    assert all(c.lower() != c for c in different)
    assert len(different) < 100
