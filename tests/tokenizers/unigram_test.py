"""Segmentation of single words by a unigram model."""

import itertools

import numpy as np
import pytest
import sentencepiece

from albert_keras.tokenizers import preprocess_text
from albert_keras.tokenizers.unigram import UnigramWords

MODELS = [
    "data/tokenizers/30k-clean.model",
    "data/tokenizers/second_sentencepiece/german-30k.model",
]


@pytest.fixture(scope="module", params=MODELS)
def processor(request, shared):
    return sentencepiece.SentencePieceProcessor(model_file=str(shared / request.param))


@pytest.fixture(scope="module")
def unigram(processor):
    return UnigramWords(processor, preprocess_text, {})


def encoded(unigram, words, are_continued=None):
    if are_continued is None:
        are_continued = np.zeros(len(words), bool)
    return unigram.encode(words, np.array(are_continued))


def rows_of(words):
    return np.split(words.token_ids, np.cumsum(words.num_tokens)[:-1])


def test_words_are_segmented_as_texts(unigram, processor):
    words = "The quick brown Foxes' jumped, (over) 1,000,000 lazy dögs – Ω! ΩΩΩ".split()
    result = encoded(unigram, words)
    rows = [row.tolist() for row in rows_of(result)]
    assert rows == processor.Encode([preprocess_text(word) for word in words])
    assert (result.reaches > 100).all()


def test_replacements(processor):
    plain, replaced = processor.Encode("an in")
    unigram = UnigramWords(processor, preprocess_text, {replaced: [7, 8, 9]})
    result = encoded(unigram, ["an", "in", "an"])
    assert result.token_ids.tolist() == [plain, 7, 8, 9, plain]
    assert result.num_tokens.tolist() == [1, 3, 1]


def test_costs_are_scores(unigram, processor):
    words = ["the", "unforeseeable", "ΩΩ", "a\u3000fox"]
    texts = [preprocess_text(word) for word in words]
    texts = processor.NBestEncode(texts, nbest_size=2, return_type="proto")
    scores = np.array([text.nbests[0].score for text in texts])
    np.testing.assert_allclose(encoded(unigram, words).costs, -scores, rtol=1e-5)


def test_reach_is_that_of_the_lead(unigram, processor):
    words = ["overruling", "foreseeable", "habit"]
    for word, reach in zip(words, encoded(unigram, words).reaches, strict=True):
        (best, second) = (
            sum(map(processor.GetScore, ids))
            for ids in processor.NBestEncode(word, nbest_size=2)
        )
        # The last digit of a float32, for each of two segmentations, twice.
        length = len(word) + 1
        limit = (best - second) / (4 * 2**-24) / length
        assert limit - 60 < reach <= limit
    # Of equal score: never sure.
    assert (encoded(unigram, ["!!!!!", "a!!!!!"]).reaches < 0).all()


def test_spaces_that_only_the_normalizer_makes_are_not_trusted(unigram):
    words = ["fox", "▁fox", "a\u200bb", "\u200b", "a\u3000b", ""]
    result = encoded(unigram, words)
    assert (result.reaches > 0).tolist() == [True, False, False, False, True, True]
    assert result.num_tokens[[1, 2, 3, 5]].tolist() == [0, 0, 0, 0]


def test_continued_words_have_no_marker(unigram, processor):
    result = encoded(unigram, ["(", "word", "word"], [False, True, False])
    rows = [processor.IdToPiece(row.tolist()) for row in rows_of(result)]
    assert rows[0] == ["▁", "("]
    assert "".join(rows[1]) == "word"
    assert "".join(rows[2]) == "▁word"


def test_no_piece_reaches_over_a_boundary(unigram, processor):
    pairs = unigram.boundaries(dependent="'").pairs
    assert pairs.shape == (128, 128)
    assert pairs[ord("s"), ord(",")]
    assert pairs[ord("S"), ord("(")]
    assert not pairs[ord("s"), ord("'")]
    assert not pairs[ord("t"), ord("h")]
    # White space ends words itself; two unknown characters would be one token.
    assert not pairs[ord("a"), ord(" ")]
    texts = [preprocess_text(chr(code)) for code in range(33, 127)]
    unknown = 33 + np.flatnonzero([ids[1:] == [1] for ids in processor.Encode(texts)])
    assert not pairs[np.ix_(unknown, unknown)].any()
    pieces = processor.IdToPiece(list(range(5, len(processor))))
    for piece in (p for p in pieces if p.isascii() and p == p.lower()):
        for first, second in itertools.pairwise(map(ord, piece)):
            assert not pairs[first, second], piece
