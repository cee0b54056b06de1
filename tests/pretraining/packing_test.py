"""Packing: layout, segments, padding, and filled rows."""

import numpy as np
import pytest

from albert_keras.pretraining.documents import tokenize_documents
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.packing import fill_rows, max_pairs, pack_pairs
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

# Tokens 11 to 19; odd ids begin a word.
MARKED_IDS = np.array([2 * token + token % 2 for token in range(11, 20)])
# Start and length of both segments, and the label.
SEGMENTS = np.array([[0, 3, 3, 2, 1], [5, 1, 0, 0, 0], [6, 1, 7, 1, 0]])


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [
        (
            [0, 1, 2],
            [0, 0, 0],
            {
                "token_ids": [
                    [2, 11, 12, 13, 3, 14, 15, 3],
                    [2, 16, 3, 9, 9, 9, 9, 9],
                    [2, 17, 3, 18, 3, 9, 9, 9],
                ],
                "segment_ids": [[0] * 5 + [1] * 3, [0] * 8, [0, 0, 0, 1, 1, 0, 0, 0]],
                "sequence_ids": [[1] * 8, [1] * 3 + [0] * 5, [1] * 5 + [0] * 3],
                "word_starts": [
                    [1, 1, 0, 1, 1, 0, 1, 1],
                    [1, 0, 1, 0, 0, 0, 0, 0],
                    [1, 1, 1, 0, 1, 0, 0, 0],
                ],
            },
        ),
        (
            [0, 1, 1],
            [0, 0, 3],
            {
                "token_ids": [
                    [2, 11, 12, 13, 3, 14, 15, 3],
                    [2, 16, 3, 2, 17, 3, 18, 3],
                ],
                "segment_ids": [[0] * 5 + [1] * 3, [0] * 6 + [1] * 2],
                "sequence_ids": [[1] * 8, [1, 1, 1, 2, 2, 2, 2, 2]],
                "word_starts": [[1, 1, 0, 1, 1, 0, 1, 1], [1, 0, 1, 1, 1, 1, 0, 1]],
            },
        ),
    ],
    ids=["one a row", "filled"],
)
def test_layout_of_rows(rows, columns, expected):
    pairs = SentencePairs(*SEGMENTS.T, np.array(rows), np.array(columns))
    packed = pack_pairs(pairs, rows[-1] + 1, MARKED_IDS, 8, ENCODER)
    assert packed.keys() == expected.keys()
    for name, values in packed.items():
        np.testing.assert_array_equal(values, expected[name])
        assert values.dtype == (bool if name == "word_starts" else np.int32)


def test_taking_rows():
    columns = np.zeros((5, 4), int)
    columns[0] = range(4)
    pairs = SentencePairs(*columns, np.array([0, 1, 1, 2]), np.array([0, 0, 5, 0]))
    taken = pairs.take_rows(np.array([3, 1, 2, 1]))
    np.testing.assert_array_equal(taken.first_start, [1, 2, 3, 1, 2])
    np.testing.assert_array_equal(taken.row, [1, 1, 2, 3, 3])
    np.testing.assert_array_equal(taken.column, [0, 5, 0, 0, 5])
    np.testing.assert_array_equal(taken.number_in_row, [0, 1, 0, 0, 1])


def make_cutter(documents, sequence_length, seed=0, objective="sop", **options):
    rng = np.random.default_rng(seed)
    draws = draw_pairs(rng, documents.num_documents, documents.num_sentences)
    config = PretrainingDataConfig(sequence_length, sentence_pairs=objective, **options)
    return PairCutter(documents, draws, config)


@pytest.mark.parametrize("sequence_length", [5, 23, 64, 193])
@pytest.mark.parametrize("one_sentence_chunks", ONE_SENTENCE_CHUNKS)
@pytest.mark.parametrize("objective", PAIR_CLASSES)
def test_properties_of_filled_rows(objective, one_sentence_chunks, sequence_length):
    options = {"objective": objective, "one_sentence_chunks": one_sentence_chunks}
    for seed in range(3):
        for lengths in draw_corpora(np.random.default_rng(seed)).values():
            documents = number_tokens(lengths)
            cutter = make_cutter(documents, sequence_length, seed, **options)
            pairs, num_skipped = fill_rows(cutter, sequence_length)
            ends = check_rows(pairs, sequence_length, NUM_SPECIAL[objective])
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


def check_rows(pairs, sequence_length, specials):
    """Checks that pairs are adjacent and rows nearly full; returns the pairs' ends."""
    num_rows = int(pairs.row.max(initial=-1)) + 1
    ends = pairs.column + pairs.lengths + specials
    np.testing.assert_array_equal(np.unique(pairs.row), np.arange(num_rows))
    is_first = np.diff(pairs.row, prepend=-1) > 0
    before = np.append(0, ends[:-1])[: len(ends)]
    np.testing.assert_array_equal(pairs.column, np.where(is_first, 0, before))
    assert (ends <= sequence_length).all()
    num_pairs = np.bincount(pairs.row, minlength=num_rows)
    assert (num_pairs <= max_pairs(sequence_length)).all()
    free = sequence_length - ends[np.flatnonzero(np.append(is_first, True)[1:])]
    is_open = free >= max(sequence_length // 32, specials + 2)
    # Rows are filled side by side, and the last one of each lane may stay open.
    assert np.count_nonzero(is_open & (num_pairs < max_pairs(sequence_length))) <= 8
    return ends


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


@pytest.mark.parametrize("objective", PAIR_CLASSES)
@pytest.mark.parametrize("sequence_length", [61, 128, 512])
def test_filled_rows_are_full(documents, tokenizer, sequence_length, objective):
    """And they use about as much text as rows of one pair."""
    # Ten times, so that the last rows of all, which stay open, do not matter.
    tokenized = tokenize_documents(documents * 10, tokenizer.encoder)
    cutter = make_cutter(tokenized, sequence_length, objective=objective)
    pairs, _ = fill_rows(cutter, sequence_length)
    ends = check_rows(pairs, sequence_length, NUM_SPECIAL[objective])
    num_positions = (pairs.row[-1] + 1) * sequence_length
    assert (ends - pairs.column).sum() >= 0.98 * num_positions
    alone, _ = cutter.cut()
    assert pairs.lengths.sum() >= 0.93 * alone.lengths.sum()
