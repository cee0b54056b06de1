"""Characters of strings in the graph against Python's."""

import random

import numpy as np
import tensorflow as tf

from albert_keras.tokenizers import words
from albert_keras.tokenizers.tensor_characters import (
    code_points_of,
    extend_to_words,
    locate_words,
    look_up,
)

TEXTS = [
    "",
    "  ",
    "a",
    " a\u3000bé\x1c🙂 ",
    "\0 \0",
    "ab\tשלום\u2028\x85中 文",
    "x" * 9,
]
# One of each kind, and some that are near to others.
CHARACTERS = "aSs'’.-‐&@,:/12٣²_é住かー\u0301\u200d\u2028!?()\0한ไ🙂\ufe0f\ufeff  "


def test_words_are_split_and_located_as_by_python():
    rng = random.Random(3)
    mixed = ["".join(rng.choices(CHARACTERS, k=rng.randrange(50))) for _ in range(999)]
    texts = [*TEXTS, *mixed]
    found, starts, ends = (rows.to_list() for rows in locate_words(tf.constant(texts)))
    for number, text in enumerate(texts):
        places = words.locate_words(text)
        assert list(zip(starts[number], ends[number], strict=True)) == places
        row = [word.decode() for word in found[number]]
        assert row == [text[start:end] for start, end in places]
    none, _, _ = locate_words(tf.constant([], tf.string))
    assert none.to_list() == []
    dropped, starts, _ = locate_words(tf.constant([b"\xffa\xc3 \xe2b"]))
    assert (dropped.to_list(), starts.to_list()) == ([[b"a", b"b"]], [[0, 2]])


def test_values_of_points_and_of_others():
    values = look_up(np.int32([3, 7]), np.int32([30, 70]), 1, tf.constant([7, 0, 3, 9]))
    assert values.numpy().tolist() == [70, 1, 30, 1]


def test_places_are_extended_to_words_as_by_python():
    rng = np.random.default_rng(3)
    texts = ["".join(rng.choice([*"aé1 -한"], 9)) for _ in range(50)]
    starts = rng.integers(0, 8, 50)
    ends = starts + rng.integers(1, 9 - starts + 1)
    places = zip(starts, ends, strict=True)
    before = 9 * np.arange(50)
    codes = code_points_of(tf.constant(texts))
    found = np.stack(extend_to_words(codes, before + starts, before + ends)) - before
    for text, place, received in zip(texts, places, found.T, strict=True):
        assert tuple(received) == words.whole_words(words.spelling_of(text), *place)
