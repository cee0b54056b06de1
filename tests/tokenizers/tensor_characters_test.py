"""Characters of strings in the graph against Python's."""

import numpy as np
import tensorflow as tf

from albert_keras.tokenizers.tensor_characters import look_up, split_at_spaces

TEXTS = [
    "",
    "  ",
    "a",
    " a\u3000bé\x1c🙂 ",
    "\0 \0",
    "ab\tשלום\u2028\x85中 文",
    "x" * 9,
]


def test_words_are_split_and_located_as_by_python():
    words, starts, ends = split_at_spaces(tf.constant(TEXTS))
    for number, text in enumerate(TEXTS):
        row = [word.decode() for word in words[number].numpy().tolist()]
        assert row == text.split()
        places = zip(starts[number].numpy(), ends[number].numpy(), strict=True)
        assert [text[start:end] for start, end in places] == row
    none, _, _ = split_at_spaces(tf.constant([], tf.string))
    assert none.to_list() == []
    dropped, starts, _ = split_at_spaces(tf.constant([b"\xffa\xc3 \xe2b"]))
    assert (dropped.to_list(), starts.to_list()) == ([[b"a", b"b"]], [[0, 2]])


def test_values_of_points_and_of_others():
    values = look_up(np.int32([3, 7]), np.int32([30, 70]), 1, tf.constant([7, 0, 3, 9]))
    assert values.numpy().tolist() == [70, 1, 30, 1]
