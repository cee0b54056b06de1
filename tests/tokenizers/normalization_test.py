"""Google's text preprocessing: in Python, with spans, and in the TensorFlow graph."""

import sys
import unicodedata

import pytest
import tensorflow as tf

from albert_keras.tokenizers.normalization import (
    code_points,
    preprocess_tensor,
    preprocess_text,
    preprocess_with_spans,
)

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


def test_options():
    assert preprocess_text("``É''", huggingface_quotes=True) == '"e"'
    assert preprocess_text("É", strip_accents=False) == "é"
    assert preprocess_text("É", lowercase=False) == "E"


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


def test_tensor_keeps_its_shape():
    strings = tf.constant([["A", "B", "C"], ["D", "E", "F"]])
    assert preprocess_tensor(strings, **GOOGLE).shape == (2, 3)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_spans(options, corpus_lines, stress_texts):
    for text in corpus_lines[::20] + stress_texts:
        preprocessed, spans = preprocess_with_spans(text, **options)
        assert preprocessed == preprocess_text(text, **options)
        assert len(spans) == len(preprocessed)
        assert spans == sorted(spans)
        for character, (start, end) in zip(preprocessed, spans, strict=True):
            # Alone, white space is stripped and a final sigma is a plain one.
            image = preprocess_text(text[start:end], **options).replace("σ", "ς")
            assert character.isspace() or character.replace("σ", "ς") in image


def test_span_holds_the_dropped_mark():
    text = " Cafe\u0301s"
    assert preprocess_with_spans(text, **GOOGLE)[1][3:] == [(4, 6), (6, 7)]


@pytest.mark.parametrize(
    ("predicate", "count"), [(str.isspace, 29), (unicodedata.combining, 912)]
)
def test_code_points(predicate, count):
    everything = "".join(map(chr, range(sys.maxunicode + 1))).encode(errors="ignore")
    rest = tf.strings.regex_replace(everything, code_points(predicate), "")
    dropped = len(everything.decode()) - len(rest.numpy().decode())
    # The counts are Unicode 14's; later versions of Python may know more marks.
    assert dropped == sum(map(bool, map(predicate, everything.decode())))
    assert dropped >= count
