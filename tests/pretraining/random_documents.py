"""Documents of numbered tokens, for tests without text."""

import itertools

import numpy as np

from albert_keras.pretraining.documents import Documents
from albert_keras.pretraining.examples import cut_examples, make_examples
from albert_keras.tokenizers.ragged import offsets_of


def number_tokens(lengths):
    """Returns documents in which each token is its own position.

    Args:
        lengths: list of documents, each a list of its sentences' tokens.

    Returns:
        `Documents`.
    """
    offsets = offsets_of(list(itertools.chain.from_iterable(lengths)))
    bounds = offsets_of([len(sentences) for sentences in lengths])
    return Documents(np.arange(offsets[-1]), offsets, bounds)


def as_lists(documents):
    """Returns `Documents` as a list of documents, sentences and marked ids."""
    ids = documents.marked_ids.tolist()
    sentences = [
        ids[start:stop]
        for start, stop in itertools.pairwise(documents.sentence_offsets)
    ]
    return [
        sentences[start:stop]
        for start, stop in itertools.pairwise(documents.document_offsets)
    ]


def draw_lengths(rng, num_documents, max_sentences, tokens):
    """Draws lengths for `number_tokens`.

    Args:
        rng: `numpy.random.Generator`.
        num_documents: int.
        max_sentences: int. Of a document, uniform from 1.
        tokens: tuple of int. Least and most tokens of a sentence, drawn between.
    """
    return [
        rng.integers(tokens[0], tokens[1] + 1, size=size).tolist()
        for size in rng.integers(1, max_sentences + 1, size=num_documents)
    ]


def draw_corpora(rng):
    """Draws corpora of every kind, as `{kind: lengths}`; the longest is 2,000 tokens."""
    usual = draw_lengths(rng, 9, 31, (1, 22))
    return {
        "usual": usual,
        "short sentences": draw_lengths(rng, 7, 150, (1, 2)),
        "long sentences": draw_lengths(rng, 11, 4, (41, 300)),
        "short and long": [[1, 600, 1, 1, 599, 3], [598], [2, 1], [1, 597]],
        "one sentence a document": draw_lengths(rng, 13, 1, (1, 97)),
        "one document": [draw_lengths(rng, 1, 1, (90, 90))[0] + usual[0] * 3],
        "one sentence": [[53]],
        "one token": [[1]],
    }


def as_ranges(pairs):
    """Lists `(first, second, label)`, the segments as ranges of token positions."""
    return [
        (range(first, first + first_length), range(second, second + length), label)
        for first, first_length, second, length, label in zip(
            *(column.tolist() for column in pairs[:5]), strict=True
        )
    ]


def in_order(pair):
    """Returns the segments of a sentence-order pair in the document's order."""
    first, second, label = pair
    return (second, first) if label else (first, second)


def make_all(documents, encoder, config, seed=0):
    """Returns the arrays of all examples of some documents."""
    rng = np.random.default_rng(seed)
    cut = cut_examples(documents, rng, config)
    return make_examples(cut, np.arange(cut.num_examples), rng, encoder, config)[0]


def original_ids(arrays):
    """Returns the token ids of examples before masking."""
    token_ids = arrays["token_ids"].copy()
    rows, slots = np.nonzero(arrays["mask_weights"])
    positions = arrays["mask_positions"][rows, slots]
    token_ids[rows, positions] = arrays["mask_ids"][rows, slots]
    return token_ids
