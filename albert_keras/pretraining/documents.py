"""Tokenized documents in a few flat arrays."""

import itertools
from typing import NamedTuple

import numpy as np

from albert_keras.tokenizers.ragged import offsets_of


class Documents(NamedTuple):
    """Tokenized documents, end to end, with the offsets of sentences and documents.

    Token ids include the word starts, because a segmenter may decide these, and one
    array is faster to gather from than two.

    Attributes:
        marked_ids: int `(num_tokens,)`. Twice the token id, plus 1 at word starts.
        sentence_offsets: int64 `(num_sentences + 1,)`. Sentence `i` is
            `marked_ids[sentence_offsets[i] : sentence_offsets[i + 1]]`; none is empty.
        document_offsets: int64 `(num_documents + 1,)`. Document `i` has the sentences
            `document_offsets[i]` to `document_offsets[i + 1]` (exclusive), at least one.
    """

    marked_ids: np.ndarray
    sentence_offsets: np.ndarray
    document_offsets: np.ndarray

    @property
    def num_tokens(self):
        """Number of tokens in all documents."""
        return len(self.marked_ids)

    @property
    def num_sentences(self):
        """Number of sentences in all documents."""
        return len(self.sentence_offsets) - 1

    @property
    def num_documents(self):
        """Number of documents."""
        return len(self.document_offsets) - 1


def mark_word_starts(token_ids, word_starts):
    """Returns marked ids of token ids and a bool array of word starts."""
    return 2 * token_ids + word_starts


def split_marks(marked_ids):
    """Returns token ids (int32) and word starts (bool) of marked ids."""
    return (marked_ids >> 1).astype(np.int32), (marked_ids & 1).astype(bool)


def tokenize_documents(documents, encoder, segmenter=None):
    """Tokenizes documents in one call of the encoder.

    Sentences without tokens and documents without sentences are dropped.

    Args:
        documents: list of documents, each a list of str.
        encoder: Has `encode_ragged(texts)` and `word_starts`.
        segmenter: callable `texts -> (token_ids, offsets, word_starts)` that replaces
            the encoder and its word starts, or None.

    Returns:
        `Documents`.
    """
    sentences = list(itertools.chain.from_iterable(documents))
    if segmenter is None:
        token_ids, offsets = encoder.encode_ragged(sentences)
        starts = encoder.word_starts[token_ids]
    else:
        token_ids, offsets, starts = segmenter(sentences)
    is_kept = np.diff(offsets) > 0
    kept_before = offsets_of(is_kept)
    sentence_bounds = offsets_of([len(document) for document in documents])
    # Of an empty document the offsets are those of its neighbour.
    document_offsets = np.unique(kept_before[sentence_bounds])
    sentence_offsets = np.append(offsets[:-1][is_kept], offsets[-1])
    return Documents(
        mark_word_starts(token_ids, starts), sentence_offsets, document_offsets
    )


def join_documents(parts):
    """Concatenates several `Documents`."""
    return Documents(
        np.concatenate([part.marked_ids for part in parts]),
        _join_offsets([part.sentence_offsets for part in parts]),
        _join_offsets([part.document_offsets for part in parts]),
    )


def _join_offsets(parts):
    lengths = np.concatenate([np.diff(offsets) for offsets in parts])
    return offsets_of(lengths)
