"""Packing: layout, segments, padding, filled rows, and pairs that are too long."""

import numpy as np
import pytest

from albert_keras.pretraining.documents import tokenize_documents
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.packing import (
    Places,
    fill_rows,
    max_pairs,
    one_a_row,
    pack_pairs,
)
from albert_keras.pretraining.pairs import (
    ONE_SENTENCE_CHUNKS,
    PAIR_CLASSES,
    PairCutter,
    SentencePairs,
    draw_pairs,
)
from albert_keras.pretraining.stream import StoredVocabulary
from tests.pretraining.random_documents import (
    as_ranges,
    draw_corpora,
    in_order,
    number_tokens,
)

# Padding, unknown, [CLS], [SEP], [MASK].
NUM_SPECIAL = {**dict.fromkeys(PAIR_CLASSES, 3), "none": 2}
ENCODER = StoredVocabulary(
    {"vocabulary_size": 51, "special_token_ids": [9, 1, 2, 3, 4]}
)


def make_pairs(*rows):
    """Returns pairs of `(first start, length, second start, length, label)`."""
    return SentencePairs(*np.array(rows, np.int64).reshape(-1, 5).T)


# Tokens 11 to 19; odd ids begin a word.
MARKED_IDS = np.array([2 * token + token % 2 for token in range(11, 20)])
PAIRS = make_pairs((0, 3, 3, 2, 1), (5, 1, 0, 0, 0), (6, 1, 7, 1, 0))


def test_one_pair_in_each_row():
    packed = pack_pairs(
        PAIRS, one_a_row(3), MARKED_IDS, sequence_length=8, encoder=ENCODER
    )
    np.testing.assert_array_equal(
        packed["token_ids"],
        [
            [2, 11, 12, 13, 3, 14, 15, 3],
            [2, 16, 3, 9, 9, 9, 9, 9],
            [2, 17, 3, 18, 3, 9, 9, 9],
        ],
    )
    np.testing.assert_array_equal(
        packed["segment_ids"],
        [[0, 0, 0, 0, 0, 1, 1, 1], [0] * 8, [0, 0, 0, 1, 1, 0, 0, 0]],
    )
    np.testing.assert_array_equal(
        packed["sequence_ids"],
        [[1] * 8, [1, 1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 0, 0, 0]],
    )
    np.testing.assert_array_equal(
        packed["word_starts"],
        [
            [1, 1, 0, 1, 1, 0, 1, 1],
            [1, 0, 1, 0, 0, 0, 0, 0],
            [1, 1, 1, 0, 1, 0, 0, 0],
        ],
    )
    dtypes = {name: values.dtype for name, values in packed.items()}
    assert dtypes.pop("word_starts") == np.dtype(bool)
    assert set(dtypes.values()) == {np.dtype(np.int32)}


def test_many_pairs_in_a_row():
    places = Places(np.array([0, 1, 1]), np.array([0, 0, 3]), 3)
    packed = pack_pairs(PAIRS, places, MARKED_IDS, sequence_length=10, encoder=ENCODER)
    np.testing.assert_array_equal(
        packed["token_ids"],
        [
            [2, 11, 12, 13, 3, 14, 15, 3, 9, 9],
            [2, 16, 3, 2, 17, 3, 18, 3, 9, 9],
            [9] * 10,
        ],
    )
    np.testing.assert_array_equal(
        packed["segment_ids"][:2],
        [[0, 0, 0, 0, 0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 1, 1, 0, 0]],
    )
    np.testing.assert_array_equal(
        packed["sequence_ids"],
        [[1] * 8 + [0] * 2, [1, 1, 1, 2, 2, 2, 2, 2, 0, 0], [0] * 10],
    )


def test_taking_rows():
    places = Places(np.array([0, 1, 1, 2]), np.array([0, 0, 5, 0]), 4)
    pairs, taken = places.take_rows(np.array([3, 1, 2, 1]))
    np.testing.assert_array_equal(pairs, [1, 2, 3, 1, 2])
    np.testing.assert_array_equal(taken.rows, [1, 1, 2, 3, 3])
    np.testing.assert_array_equal(taken.columns, [0, 5, 0, 0, 5])
    assert taken.num_rows == 4


def test_no_pairs():
    packed = pack_pairs(
        make_pairs(), one_a_row(0), MARKED_IDS, sequence_length=7, encoder=ENCODER
    )
    assert {array.shape for array in packed.values()} == {(0, 7)}


def test_pair_that_is_too_long():
    pairs = make_pairs((0, 1, 1, 1, 0), (2, 2, 4, 2, 1))
    with pytest.raises(ValueError, match="sequence_length=6, longest=7"):
        pack_pairs(pairs, one_a_row(2), MARKED_IDS, sequence_length=6, encoder=ENCODER)
    # In rows that are filled it is where the pair ends that counts.
    places = Places(np.array([0, 0]), np.array([0, 5]), 1)
    with pytest.raises(ValueError, match="sequence_length=11, longest=12"):
        pack_pairs(pairs, places, MARKED_IDS, sequence_length=11, encoder=ENCODER)


def make_cutter(documents, sequence_length, seed=0, objective="sop", **options):
    rng = np.random.default_rng(seed)
    draws = draw_pairs(rng, documents.num_documents, documents.num_sentences)
    config = PretrainingDataConfig(sequence_length, sentence_pairs=objective, **options)
    return PairCutter(documents, draws, config)


def fill(documents, sequence_length, seed=0, **options):
    return fill_rows(
        make_cutter(documents, sequence_length, seed, **options), sequence_length
    )


@pytest.mark.parametrize("sequence_length", [5, 23, 64, 193])
@pytest.mark.parametrize("one_sentence_chunks", ONE_SENTENCE_CHUNKS)
@pytest.mark.parametrize("objective", PAIR_CLASSES)
def test_properties_of_filled_rows(objective, one_sentence_chunks, sequence_length):
    specials = NUM_SPECIAL[objective]
    for seed in range(3):
        for lengths in draw_corpora(np.random.default_rng(seed)).values():
            documents = number_tokens(lengths)
            pairs, places, num_skipped = fill(
                documents,
                sequence_length,
                seed,
                objective=objective,
                one_sentence_chunks=one_sentence_chunks,
            )
            ends = places.columns + pairs.lengths + specials
            check_rows(places, ends, sequence_length, specials)
            least_sentences = 2
            draws = one_sentence_chunks == "random_document" and len(lengths) > 1
            draws = draws and objective != "distant"
            if objective == "none" or draws:
                assert num_skipped == 0
                least_sentences = 1
            expected = {i for i, d in enumerate(lengths) if len(d) >= least_sentences}
            is_whole = ends < sequence_length
            found = check_pairs(lengths, as_ranges(pairs), is_whole, objective)
            assert found >= expected


def check_rows(places, ends, sequence_length, specials):
    """Checks that pairs are adjacent and that rows are nearly full."""
    np.testing.assert_array_equal(np.unique(places.rows), np.arange(places.num_rows))
    is_first = np.diff(places.rows, prepend=-1) > 0
    before = np.append(0, ends[:-1])[: len(ends)]
    np.testing.assert_array_equal(places.columns, np.where(is_first, 0, before))
    assert (ends <= sequence_length).all()
    num_pairs = np.bincount(places.rows, minlength=places.num_rows)
    assert (num_pairs <= max_pairs(sequence_length)).all()
    free = sequence_length - ends[np.flatnonzero(np.append(is_first, True)[1:])]
    is_open = free >= max(sequence_length // 32, specials + 2)
    # Rows are filled side by side, and the last one of each lane may stay open.
    assert np.count_nonzero(is_open & (num_pairs < max_pairs(sequence_length))) <= 8


def check_pairs(lengths, ranges, is_whole, objective):
    """Checks the documents of segments; returns the documents with segments."""
    document_of = np.repeat(np.arange(len(lengths)), [sum(d) for d in lengths]).tolist()
    found, used = set(), []
    for (first, second, label), whole in zip(ranges, is_whole, strict=True):
        of_first, of_second = (
            {document_of[place] for place in segment} for segment in (first, second)
        )
        found |= of_first
        assert len(of_first) == 1
        assert len(of_second) == (objective != "none")
        used += first
        if objective == "distant" and label:
            assert of_first == of_second
            assert second[-1] < first[0] - 1 or first[-1] + 1 < second[0]
        elif of_first == of_second:
            used += second
            assert label == 0 or objective in ("sop", "ternary")
            before, after = in_order((first, second, label))
            # What fits as it is loses nothing, on either side of the split.
            assert before[-1] + 1 == after[0] if whole else before[-1] < after[0]
        else:
            assert label == max(0, len(PAIR_CLASSES[objective]) - 1)
    # Except for segments from elsewhere, no token is in two pairs.
    assert len({*used}) == len(used)
    return found


def check_shares(documents, sequence_length, objective):
    """Checks that rows are full and use about as much text as rows of one pair."""
    pairs, places, _ = fill(documents, sequence_length, objective=objective)
    specials = NUM_SPECIAL[objective] * len(pairs.label)
    num_positions = places.num_rows * sequence_length
    assert pairs.lengths.sum() + specials >= 0.98 * num_positions
    ends = places.columns + pairs.lengths + NUM_SPECIAL[objective]
    check_rows(places, ends, sequence_length, NUM_SPECIAL[objective])
    alone, _ = make_cutter(documents, sequence_length, objective=objective).cut()
    assert pairs.lengths.sum() >= 0.93 * alone.lengths.sum()


@pytest.mark.parametrize("objective", PAIR_CLASSES)
@pytest.mark.parametrize("sequence_length", [61, 128, 512])
def test_filled_rows_are_full(documents, tokenizer, sequence_length, objective):
    # Ten times, so that the last rows of all, which stay open, do not matter.
    tokenized = tokenize_documents(documents * 10, tokenizer.encoder)
    check_shares(tokenized, sequence_length, objective)
