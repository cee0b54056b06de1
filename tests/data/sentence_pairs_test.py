"""Sentence pairs: what stands in them, how often, and what is lost."""

import itertools
import random

import numpy as np
import pytest

from albert_keras.data.documents import TokenizedDocument
from albert_keras.data.sentence_pairs import SentencePair, make_pairs, truncate_pair


def make_document(lengths, first_id=0):
    """A document whose tokens are numbered, so that a slice tells where it is from."""
    offsets = np.cumsum([0, *lengths])
    token_ids = np.arange(first_id, first_id + offsets[-1], dtype=np.int32)
    return TokenizedDocument(token_ids, offsets)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(3)
    return [
        make_document(rng.integers(1, 23, size=size), first_id)
        for size, first_id in ((400, 0), (50, 100_000), (7, 200_000))
    ]


def in_order(pair):
    return (pair.second, pair.first) if pair.label else (pair.first, pair.second)


def test_sentence_order_joins_to_consecutive_sentences(corpus):
    document = corpus[0]
    begins = set(document.sentence_offsets.tolist())
    num_whole = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pairs, _ = make_pairs(corpus, 0, rng, max_tokens=61, short_sequence_prob=0.6)
        position = 0
        for pair in pairs:
            first, second = in_order(pair)
            np.testing.assert_array_equal(np.diff(first), 1)
            np.testing.assert_array_equal(np.diff(second), 1)
            assert position <= first[0] <= first[-1] < second[0]
            position = second[-1] + 1
            # A pair of 61 tokens may have lost some at any of its four ends.
            if len(first) + len(second) < 61:
                assert second[0] == first[-1] + 1
                assert {int(first[0]), int(second[0]), int(position)} <= begins
                num_whole += 1
    assert num_whole > 500


def test_nothing_is_lost_when_nothing_must_be(corpus):
    pairs, num_skipped = make_pairs(
        corpus, 1, np.random.default_rng(0), max_tokens=9_999, short_sequence_prob=0.0
    )
    both = np.concatenate(in_order(pairs[0]))
    np.testing.assert_array_equal(both, corpus[1].token_ids)
    assert (len(pairs), num_skipped) == (1, 0)


def test_half_of_the_pairs_are_swapped(corpus):
    labels = [
        pair.label
        for seed in range(100)
        for pair in make_pairs(corpus, 0, np.random.default_rng(seed), max_tokens=97)[0]
    ]
    # 0.03 is four standard errors of the mean of 4,500 independent draws.
    assert len(labels) > 4_500
    assert abs(np.mean(labels) - 0.5) < 0.03


def test_the_split_is_uniform_over_sentences():
    document = make_document([5, 6, 7, 8])
    splits = np.zeros(4)
    for seed in range(1_500):
        rng = np.random.default_rng(seed)
        pairs, _ = make_pairs([document], 0, rng, short_sequence_prob=0.0)
        splits[[5, 11, 18].index(len(in_order(pairs[0])[0]))] += 1
    # Four standard errors of a share of 1/3 in 1,500 draws.
    np.testing.assert_allclose(splits[:3] / 1_500, 1 / 3, atol=0.049)


@pytest.mark.parametrize(
    ("one_sentence_chunks", "expected"), [("skip", (0, 3)), ("random_document", (3, 0))]
)
def test_one_sentence_chunks(one_sentence_chunks, expected):
    documents = [make_document([31, 32, 33]), make_document([4, 5], first_id=1_000)]
    pairs, num_skipped = make_pairs(
        documents,
        0,
        np.random.default_rng(0),
        max_tokens=29,
        short_sequence_prob=0.0,
        one_sentence_chunks=one_sentence_chunks,
    )
    assert (len(pairs), num_skipped) == expected
    for pair in pairs:
        assert pair.label == 1
        assert pair.first[-1] < 1_000 <= pair.second[0]


def test_no_negative_without_another_document():
    rng = np.random.default_rng(0)
    options = {"max_tokens": 29, "short_sequence_prob": 0.0}
    long_sentences = [make_document([31, 32, 33])]
    made = make_pairs(
        long_sentences, 0, rng, one_sentence_chunks="random_document", **options
    )
    assert made == ([], 3)
    short_sentences = [make_document([5, 6, 7] * 40)]
    pairs, num_skipped = make_pairs(short_sentences, 0, rng, objective="nsp", **options)
    assert (len(pairs), num_skipped) == (24, 0)
    assert not any(pair.label for pair in pairs)


def test_next_sentence_puts_unused_sentences_back(corpus):
    labels = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        pairs, _ = make_pairs(
            corpus, 0, rng, objective="nsp", max_tokens=999, short_sequence_prob=0.0
        )
        position = 0
        for pair in pairs:
            labels.append(pair.label)
            # No chunk reaches the limit by more than a sentence of 22 tokens.
            assert 0 <= pair.first[0] - position <= 22
            if pair.label:
                assert pair.second[0] >= 100_000
                position = pair.first[-1]
            else:
                assert pair.second[0] - pair.first[-1] <= 22
                position = pair.second[-1]
    assert len(labels) > 300
    assert abs(np.mean(labels) - 0.5) < 4 * 0.5 / np.sqrt(len(labels))


def test_no_pairs_keep_every_sentence(corpus):
    pairs, num_skipped = make_pairs(
        corpus,
        0,
        np.random.default_rng(5),
        objective="none",
        max_tokens=83,
        short_sequence_prob=0.0,
    )
    assert num_skipped == 0
    assert {len(pair.second) for pair in pairs} == {0}
    assert {len(pair.first) for pair in pairs[:-1]} == {83}


def test_the_target_is_drawn_once_for_a_document():
    document = make_document([1] * 3_000)
    shortest = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        pairs, _ = make_pairs(
            [document], 0, rng, max_tokens=47, short_sequence_prob=1.0
        )
        lengths = {len(pair.first) + len(pair.second) for pair in pairs[:-1]}
        assert len(lengths) == 1
        shortest |= lengths
    assert min(shortest) >= 2
    assert max(shortest) <= 47
    assert len(shortest) > 10


def make_plainly(documents, index, rng, objective, max_tokens):
    """The original's rules, one sentence at a time, over lists of tokens.

    Returns:
        List of `(first, second, label)`, before truncation.
    """
    target = max_tokens
    if rng.random() < 0.3:
        target = rng.randint(2, max_tokens)
    sentences = documents[index]
    pairs, chunk, i = [], [], 0
    while i < len(sentences):
        chunk.append(sentences[i])
        if i == len(sentences) - 1 or sum(map(len, chunk)) >= target:
            end = rng.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
            first = list(itertools.chain(*chunk[:end]))
            second = list(itertools.chain(*chunk[end:]))
            label = 0
            if len(chunk) == 1 or (objective == "nsp" and rng.random() < 0.5):
                label, room = 1, target - len(first)
                other = rng.choice([d for d in documents if d is not sentences])
                second = []
                for sentence in other[rng.randint(0, len(other) - 1) :]:
                    second = second + sentence
                    if len(second) >= room:
                        break
                i -= len(chunk) - end
            elif objective == "sop" and rng.random() < 0.5:
                first, second, label = second, first, 1
            pairs.append((first, second, label))
            chunk = []
        i += 1
    return pairs


@pytest.mark.parametrize("objective", ["sop", "nsp"])
def test_distributions_agree_with_the_plain_rules(objective):
    rng = np.random.default_rng(9)
    documents = [make_document(rng.integers(1, 15, size=s)) for s in (19, 11, 6)]
    plain = [
        [d.tokens(i, i + 1).tolist() for i in range(d.num_sentences)] for d in documents
    ]

    def describe(pairs):
        """Of the pairs of one document: how many, and sums over them."""
        first = np.array([len(pair[0]) for pair in pairs])
        total = first + [len(pair[1]) for pair in pairs]
        labels = [pair[2] for pair in pairs]
        begins = [pair[0][0] for pair in pairs] + [pair[1][0] for pair in pairs]
        sums = [sum(labels), total.sum(), first.sum(), sum(total**2), sum(first**2)]
        return [len(pairs), *sums, sum(begins), first @ labels]

    ours, theirs = [], []
    for seed in range(4_000):
        pairs, _ = make_pairs(
            documents,
            seed % 3,
            np.random.default_rng(seed),
            objective=objective,
            max_tokens=43,
            short_sequence_prob=0.3,
            one_sentence_chunks="random_document",
        )
        ours.append(describe(pairs))
        made = make_plainly(plain, seed % 3, random.Random(seed), objective, 43)
        truncated = [
            truncate_pair(SentencePair(*pair), 43, np.random.default_rng(seed))
            for pair in made
        ]
        theirs.append(describe(truncated))
    # Two samples of 4,000 documents: four standard errors of the difference of means.
    error = np.std(theirs, axis=0) * np.sqrt(2 / 4_000)
    difference = np.mean(ours, axis=0) - np.mean(theirs, axis=0)
    assert (np.abs(difference) < 4 * error).all(), difference / error
    assert (error < 0.03 * np.mean(theirs, axis=0)).all()


def test_truncation_leaves_as_much_as_one_token_at_a_time():
    rng = np.random.default_rng(0)
    for max_tokens in (7, 10):
        for num_first in range(1, 16):
            for num_second in range(17):
                pair = SentencePair(np.arange(num_first), np.arange(num_second), 0)
                kept = truncate_pair(pair, max_tokens, rng)
                lengths = [num_first, num_second]
                while sum(lengths) > max_tokens:
                    lengths[0 if lengths[0] > lengths[1] else 1] -= 1
                assert [len(kept.first), len(kept.second)] == lengths


def test_truncation_takes_from_front_and_back():
    pair = SentencePair(np.arange(30), np.arange(100, 120), 1)
    starts = []
    for seed in range(2_000):
        kept = truncate_pair(pair, 26, np.random.default_rng(seed))
        np.testing.assert_array_equal(np.diff(kept.first), 1)
        np.testing.assert_array_equal(np.diff(kept.second), 1)
        starts.append((kept.first[0], kept.second[0] - 100))
    # Binomial(17, 1/2) and Binomial(7, 1/2): mean and variance, 4 standard errors.
    np.testing.assert_allclose(np.mean(starts, axis=0), [8.5, 3.5], atol=0.19)
    np.testing.assert_allclose(np.var(starts, axis=0), [4.25, 1.75], atol=0.54)
