"""Tokenized documents in a few flat arrays."""

import itertools
from typing import NamedTuple

import numpy as np

from albert_keras.tokenizers.ragged import offsets_of, ragged_positions


class Documents(NamedTuple):
    """Tokenized documents, stored end to end, with offsets of sentences and documents.

    No sentence or document is empty. The ids contain the word starts, because gathering
    from one array is faster than from two.
    """

    marked_ids: np.ndarray  # (num_tokens,) twice the token id, plus 1 at word starts
    sentence_offsets: np.ndarray  # (num_sentences + 1,) in `marked_ids`
    document_offsets: np.ndarray  # (num_documents + 1,) in the sentences

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
    """Returns marked ids for token ids and a bool array of word starts."""
    return 2 * token_ids + word_starts


def split_marks(marked_ids):
    """Returns the token ids (int32) and word starts (bool) of marked ids."""
    return (marked_ids >> 1).astype(np.int32), (marked_ids & 1).astype(bool)


def tokenize_documents(documents, encoder, segmenter=None):
    """Tokenizes a list of lists of str in one call of the encoder; returns `Documents`.

    Sentences without tokens and documents without sentences are dropped. A segmenter,
    `texts -> (token_ids, offsets, word_starts)`, is used instead of the encoder.
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
    # An empty document has the same offset as its neighbour.
    document_offsets = np.unique(kept_before[sentence_bounds])
    sentence_offsets = np.append(offsets[:-1][is_kept], offsets[-1])
    return Documents(
        mark_word_starts(token_ids, starts), sentence_offsets, document_offsets
    )


def take_documents(documents, numbers):
    """Returns the documents with the given numbers, in this order."""
    starts = documents.document_offsets[numbers]
    counts = documents.document_offsets[numbers + 1] - starts
    sentences = ragged_positions(starts, counts)
    lengths = np.diff(documents.sentence_offsets)[sentences]
    bounds = documents.sentence_offsets[documents.document_offsets]
    # Slices, because positions of tokens would take eight bytes each.
    ids = [documents.marked_ids[bounds[n] : bounds[n + 1]] for n in numbers.tolist()]
    marked_ids = np.concatenate([documents.marked_ids[:0], *ids])
    return Documents(marked_ids, offsets_of(lengths), offsets_of(counts))


def join_documents(parts):
    """Concatenates several `Documents`."""
    marked_ids, *all_offsets = zip(*parts, strict=True)
    lengths = [np.concatenate(list(map(np.diff, parts))) for parts in all_offsets]
    return Documents(np.concatenate(marked_ids), *map(offsets_of, lengths))
