"""Tokenized documents: offsets, dropped sentences, joining."""

import numpy as np
import pytest

from albert_keras.pretraining.documents import (
    join_documents,
    mark_word_starts,
    split_marks,
    tokenize_documents,
)
from albert_keras.tokenizers import AlbertTokenizer
from albert_keras.tokenizers.ragged import offsets_of
from tests.pretraining.random_documents import as_lists, draw_lengths, number_tokens

TEXTS = [["this is a test", " ", "a test"], [" "], ["test"], [""]]


def sizes(documents):
    return documents.num_documents, documents.num_sentences, documents.num_tokens


def test_tokenizing_keeps_sentences_apart(shared):
    path = shared / "data/tokenizers/30k-clean.model"
    documents = tokenize_documents(TEXTS, AlbertTokenizer(str(path)).encoder)
    token_ids, word_starts = split_marks(documents.marked_ids)
    np.testing.assert_array_equal(token_ids, [48, 25, 21, 1289, 21, 1289, 1289])
    np.testing.assert_array_equal(word_starts, [True] * 7)
    np.testing.assert_array_equal(documents.sentence_offsets, [0, 4, 6, 7])
    np.testing.assert_array_equal(documents.document_offsets, [0, 2, 3])
    assert sizes(documents) == (2, 3, 7)


def test_tokens_are_those_of_each_sentence_alone(documents, tokenizer):
    encoder = tokenizer.encoder
    tokenized = tokenize_documents(documents, encoder)
    assert as_lists(tokenized) == [
        [
            mark_word_starts(np.array(ids), encoder.word_starts[ids]).tolist()
            for ids in encoder.encode_batch(sentences)
        ]
        for sentences in documents
    ]
    assert 0.2 < split_marks(tokenized.marked_ids)[1].mean() < 0.8


def test_a_segmenter_decides_on_words():
    def letters(texts):
        ids = np.array([ord(letter) for text in texts for letter in text], np.int32)
        return ids, offsets_of([len(text) for text in texts]), ids % 5 == 0

    documents = tokenize_documents([["abc", "", "de"], [""], ["f"]], None, letters)
    token_ids, word_starts = split_marks(documents.marked_ids)
    assert bytes(token_ids.tolist()) == b"abcdef"
    np.testing.assert_array_equal(word_starts, [0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(documents.sentence_offsets, [0, 3, 5, 6])
    np.testing.assert_array_equal(documents.document_offsets, [0, 2, 3])


@pytest.mark.parametrize("texts", [[], [[" ", ""], [""]]])
def test_no_tokens(tokenizer, texts):
    assert sizes(tokenize_documents(texts, tokenizer.encoder)) == (0, 0, 0)


def test_joining():
    rng = np.random.default_rng(7)
    parts = [number_tokens(draw_lengths(rng, n, 5, (1, 9))) for n in (3, 0, 1, 8)]
    joined = join_documents(parts)
    assert as_lists(joined) == [
        document for part in parts for document in as_lists(part)
    ]
    assert joined.document_offsets.dtype == joined.sentence_offsets.dtype == np.int64


def test_marks():
    token_ids = np.array([0, 1, 29_999, 2**30 - 1], np.int32)
    word_starts = np.array([True, False, True, True])
    found = split_marks(mark_word_starts(token_ids, word_starts))
    np.testing.assert_array_equal(found[0], token_ids)
    np.testing.assert_array_equal(found[1], word_starts)
    assert [array.dtype for array in found] == [np.int32, bool]
