"""Tokenized documents: offsets, dropped sentences, joining."""

import numpy as np
import pytest

from albert_keras.pretraining.documents import (
    join_documents,
    mark_word_starts,
    split_marks,
    tokenize_documents,
)
from albert_keras.tokenizers.ragged import offsets_of
from tests.pretraining.random_documents import as_lists, draw_lengths, number_tokens


def sizes(documents):
    return documents.num_documents, documents.num_sentences, documents.num_tokens


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
