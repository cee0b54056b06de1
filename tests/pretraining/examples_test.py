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
        ({"dupe_factor": 10**9}, "1 to 1000. Received: dupe_factor=1000000000"),
        ({"num_shards": 10**5}, "1 to 10000. Received: num_shards=100000"),
        ({"masking": "span"}, "token, whole_word, ngram. Received: masking='span'"),
        (
            {"sentence_pairs": None},
            "sop, nsp, ternary, distant, none. Received: sentence_pairs=None",
        ),
        ({"pair_gap": -1}, "0 to 1000. Received: pair_gap=-1"),
        ({"word_segmenter": "x"}, "one of jieba. Received: word_segmenter='x'"),
        ({"short_sequence_prob": 1.5}, "0 to 1. .*short_sequence_prob=1.5"),
    ],
)
def test_configuration_errors(values, message):
    with pytest.raises(ValueError, match=message):
        PretrainingDataConfig(**values)


def test_default_max_predictions():
    config = PretrainingDataConfig()
    assert (config.num_predictions, config.max_tokens) == (77, 509)
    config = dataclasses.replace(config, sequence_length=128, sentence_pairs="none")
    assert (config.num_predictions, config.max_tokens) == (19, 126)
    assert dataclasses.replace(config, max_predictions=20).num_predictions == 20


@pytest.mark.parametrize("sentence_pairs", ["sop", "nsp", "none"])
def test_properties_of_filled_examples(tokenized, encoder, sentence_pairs):
    config = dataclasses.replace(
        CONFIG, sentence_pairs=sentence_pairs, packing="filled"
    )
    arrays = make_all(tokenized, encoder, config)
    original = original_ids(arrays)
    lengths = arrays["padding_mask"].sum(axis=1)
    is_prediction = arrays["mask_weights"] > 0

    num_pairs = arrays["sop_weight"].sum(axis=1)
    num_separators = num_pairs * (1 if sentence_pairs == "none" else 2)
    assert (original[:, 0] == encoder.cls_token_id).all()
    assert (original[np.arange(len(original)), lengths - 1] == 3).all()
    assert ((original == encoder.cls_token_id).sum(axis=1) == num_pairs).all()
    assert ((original == encoder.sep_token_id).sum(axis=1) == num_separators).all()
    assert (original[arrays["padding_mask"] == 0] == encoder.pad_token_id).all()
    np.testing.assert_array_equal(
        arrays["segment_ids"].sum(axis=1) > 0, sentence_pairs != "none"
    )

    assert not np.isin(arrays["mask_ids"][is_prediction], [0, 1, 2, 3, 4]).any()
    ordinary = arrays["padding_mask"] == 1
    ordinary[np.arange(len(original)), lengths - 1] = False
    assert (arrays["token_ids"][ordinary] != encoder.unk_token_id).all()
    ascending = np.diff(arrays["mask_positions"], axis=1)[is_prediction[:, 1:]]
    assert (ascending > 0).all()
    budgets = np.maximum(1, np.rint(lengths * 0.15))
    assert (is_prediction.sum(axis=1) <= budgets).all()
    assert is_prediction.sum() > 0.97 * budgets.sum()


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
