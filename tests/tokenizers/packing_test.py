"""Packed segments: the layout, truncation, and equality of NumPy and TensorFlow."""

import itertools

import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.tokenizers.packing import (
    kept_lengths,
    pack_segments,
    pack_tensors,
    pad_rows,
    truncate,
    whole_texts,
)
from albert_keras.tokenizers.ragged import offsets_of

PAD, CLS, SEP = 7, 2, 3


class Tokenizer:
    """Special tokens of a tokenizer."""

    pad_token_id, cls_token_id, sep_token_id = PAD, CLS, SEP


def random_texts(seed, num_rows, longest):
    """Returns ids and offsets of texts, about a third of them empty."""
    random = np.random.default_rng(seed)
    lengths = random.integers(-longest // 2, longest, num_rows).clip(0)
    offsets = offsets_of(lengths)
    return random.integers(11, 97, offsets[-1]).astype(np.int32), offsets


def rows_of(offsets, values):
    return [values[a:b].tolist() for a, b in itertools.pairwise(offsets)]


def test_a_pair_by_hand():
    first = whole_texts(np.int32([11, 12, 13]), np.array([0, 2, 3]))
    second = whole_texts(np.int32([21, 22, 23]), np.array([0, 0, 3]))
    offsets, arrays = pack_segments([first, second], CLS, SEP)
    assert rows_of(offsets, arrays["token_ids"]) == [
        [CLS, 11, 12, SEP, SEP],
        [CLS, 13, SEP, 21, 22, 23, SEP],
    ]
    segment_ids = rows_of(offsets, arrays["segment_ids"])
    assert segment_ids == [[0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1, 1]]
    assert {array.dtype.name for array in arrays.values()} == {"int32"}
    offsets, arrays = pack_segments([first, second], CLS, SEP, keep_empty=False)
    assert rows_of(offsets, arrays["token_ids"])[0] == [CLS, 11, 12, SEP]


@pytest.mark.parametrize("num_segments", [1, 2])
@pytest.mark.parametrize("sequence_length", [4, 5, 12, 33, 90])
def test_numpy_tensorflow_and_keras_hub_pack_alike(num_segments, sequence_length):
    texts = [random_texts(seed, 61, 41) for seed in range(num_segments)]
    segments = truncate([whole_texts(*text) for text in texts], sequence_length)
    offsets, arrays = pack_segments(segments, CLS, SEP)
    ragged = [tf.RaggedTensor.from_row_splits(*text) for text in texts]
    traced = tf.function(pack_tensors, autograph=False)
    received = traced(ragged, Tokenizer, sequence_length)
    hub = keras_hub.layers.MultiSegmentPacker(sequence_length, CLS, SEP, pad_value=PAD)
    expected = dict(zip(("token_ids", "segment_ids"), hub(tuple(ragged)), strict=True))
    expected["padding_mask"] = expected["token_ids"] != PAD
    arrays["padding_mask"] = np.ones(offsets[-1], np.int32)
    for name, padding in ("token_ids", PAD), ("segment_ids", 0), ("padding_mask", 0):
        padded = pad_rows(offsets, arrays[name], sequence_length, padding)
        np.testing.assert_array_equal(padded, expected[name])
        np.testing.assert_array_equal(received[name], expected[name])
        assert padded.dtype == received[name].dtype == np.int32


def test_lengths_of_pairs_are_those_of_the_original():
    """Its rule: while a pair is too long the longer text, or the second, loses one."""

    def shortened(first, second, room):
        while first + second > room:
            if first > second:
                first -= 1
            else:
                second -= 1
        return first, second

    sizes = np.stack(np.meshgrid(np.arange(13), np.arange(11))).reshape(2, -1)
    for room in (1, 2, 7, 8, 23):
        expected = [shortened(*pair, room) for pair in sizes.T.tolist()]
        received = kept_lengths(list(sizes), room)
        assert list(zip(*map(np.ndarray.tolist, received), strict=True)) == expected


def test_as_many_second_segments_as_first_ones():
    segments = [tf.ragged.constant(rows) for rows in ([[5]], [[6], [7, 8]])]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must match"):
        pack_tensors(segments, Tokenizer, 9)
