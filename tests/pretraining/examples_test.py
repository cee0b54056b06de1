"""Examples: configuration errors, properties of every example, draws."""

import dataclasses

import numpy as np
import pytest

from albert_keras.pretraining.documents import tokenize_documents
from albert_keras.pretraining.examples import (
    PretrainingDataConfig,
    cut_examples,
    make_examples,
)
from albert_keras.pretraining.packing import max_pairs, pack_pairs
from tests.pretraining.random_documents import make_all, original_ids

CONFIG = PretrainingDataConfig(sequence_length=61)


@pytest.fixture(scope="module")
def encoder(tokenizer):
    return tokenizer.encoder


@pytest.fixture(scope="module")
def tokenized(documents, encoder):
    return tokenize_documents(documents, encoder)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sequence_length": 4}, "integer, 5 to 65536. Received: sequence_length=4"),
        ({"masking": "span"}, "token, whole_word, ngram. Received: masking='span'"),
        ({"short_sequence_prob": 1.5}, "0 to 1. .*short_sequence_prob=1.5"),
    ],
)
def test_configuration_errors(values, message):
    with pytest.raises(ValueError, match=message):
        PretrainingDataConfig(**values)


@pytest.mark.parametrize("sentence_pairs", ["sop", "nsp", "none"])
def test_pairs_of_filled_rows(tokenized, encoder, sentence_pairs):
    config = dataclasses.replace(
        CONFIG, sentence_pairs=sentence_pairs, packing="filled"
    )
    cut = cut_examples(tokenized, np.random.default_rng(1), config)
    arrays = make_all(tokenized, encoder, config, seed=1)
    original = original_ids(arrays)
    num_pairs = len(cut.pairs.label)
    alone = pack_pairs(
        cut.pairs._replace(row=np.arange(num_pairs), column=np.zeros(num_pairs, int)),
        num_pairs,
        tokenized.marked_ids,
        config.sequence_length,
        encoder,
    )
    expected = iter(range(num_pairs))
    assert arrays["sop_label"].shape == (cut.num_examples, max_pairs(61))
    for row, ids in enumerate(arrays["sequence_ids"]):
        num_pairs = int(arrays["sop_weight"][row].sum())
        np.testing.assert_array_equal(arrays["sop_weight"][row, :num_pairs], 1)
        assert {*ids.tolist()} - {0} == {*range(1, num_pairs + 1)}
        np.testing.assert_array_equal(ids > 0, arrays["padding_mask"][row])
        for slot in range(num_pairs):
            place = np.flatnonzero(ids == slot + 1)
            pair = next(expected)
            assert arrays["pair_positions"][row, slot] == place[0]
            assert arrays["sop_label"][row, slot] == cut.pairs.label[pair]
            np.testing.assert_array_equal(place, np.arange(place[0], place[-1] + 1))
            for name, values in (
                ("token_ids", original),
                ("segment_ids", arrays["segment_ids"]),
                ("word_starts", arrays["word_starts"]),
            ):
                found = values[row, place]
                np.testing.assert_array_equal(found, alone[name][pair, : len(place)])
            assert len(place) == alone["sequence_ids"][pair].sum()
        unused = (arrays["pair_positions"], arrays["sop_label"], arrays["sop_weight"])
        assert not any(array[row, num_pairs:].any() for array in unused)
    assert next(expected, None) is None


@pytest.mark.parametrize("packing", ["padded", "filled"])
def test_rows_are_made_in_any_order(tokenized, encoder, packing):
    config = dataclasses.replace(CONFIG, packing=packing)
    cut = cut_examples(tokenized, np.random.default_rng(2), config)
    everything, _ = make_examples(
        cut, np.arange(cut.num_examples), np.random.default_rng(3), encoder, config
    )
    rows = np.random.default_rng(4).permutation(cut.num_examples)[:37]
    some, run_counts = make_examples(
        cut, rows, np.random.default_rng(5), encoder, config
    )
    np.testing.assert_array_equal(original_ids(some), original_ids(everything)[rows])
    for name in {*some} - {"token_ids", "mask_positions", "mask_ids", "mask_weights"}:
        np.testing.assert_array_equal(some[name], everything[name][rows])
    assert run_counts.sum() > 37
    nothing, run_counts = make_examples(
        cut, rows[:0], np.random.default_rng(5), encoder, config
    )
    shapes = {name: (0, *values.shape[1:]) for name, values in some.items()}
    assert {name: values.shape for name, values in nothing.items()} == shapes
    assert run_counts.tolist() == [0, 0, 0]
