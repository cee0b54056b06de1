"""Computations of a preparation's workers: tokenize documents, make records.

The results depend on the arguments alone: part of the corpus, block of the store, pass.
Nothing here writes files or imports TensorFlow.
"""

import collections
import dataclasses
from typing import Any

import numpy as np

from albert_keras.pretraining.documents import tokenize_documents
from albert_keras.pretraining.examples import (
    GROUP_EXAMPLES,
    PretrainingDataConfig,
    cut_examples,
    make_examples,
)
from albert_keras.pretraining.records import serialize_examples
from albert_keras.pretraining.report import count_documents, count_examples
from albert_keras.pretraining.token_store import pack_documents
from albert_keras.text.corpus import Corpus
from albert_keras.tokenizers.segmentation import make_segmenter

# Characters tokenized in one call.
_BATCH_CHARACTERS = 2**20

# First numbers of the random generators' keys.
_DOCUMENT_ORDER, _EXAMPLES = 0, 1


@dataclasses.dataclass(frozen=True)
class Preparation:
    """Inputs that all workers share; pickles.

    Args:
        corpus: `Corpus`.
        encoder: `SentencePieceEncoder` or `WordPieceEncoder`.
        config: `PretrainingDataConfig`.
    """

    corpus: Corpus
    encoder: Any
    config: PretrainingDataConfig

    def tokenize_part(self, index):
        """Tokenizes part number `index` of the corpus.

        Yields:
            Tuples `(keys, blob, ends, counts)`: documents as items with random keys,
            which decide their order in the store, and the counts of a report.
        """
        config, rng = self.config, self._generator(_DOCUMENT_ORDER, index)
        segmenter = make_segmenter(config.word_segmenter, self.encoder)
        counts = collections.Counter()
        documents = self.corpus.read(self.corpus.parts[index], counts)
        for batch in _batches(documents):
            tokenized = tokenize_documents(batch, self.encoder, segmenter)
            keys = rng.integers(0, 2**64, tokenized.num_documents, np.uint64)
            found = count_documents(
                batch, tokenized, counts.pop("empty_documents", 0), self.encoder, config
            )
            yield keys, *pack_documents(tokenized), {**counts, **found}
            counts.clear()

    def make_records(self, documents, place, pass_index):
        """Makes the records of one block of the store in one pass.

        Args:
            documents: `Documents` of the block.
            place: tuple of shard number and block number.
            pass_index: int.

        Yields:
            Tuples `(keys, blob, ends, counts)`: records as items with random keys,
            which decide their order in the files, and the counts of a report.
        """
        rng = self._generator(_EXAMPLES, pass_index, *place)
        cut = cut_examples(documents, rng, self.config)
        for begin in range(0, max(1, cut.num_examples), GROUP_EXAMPLES):
            rows = np.arange(begin, min(begin + GROUP_EXAMPLES, cut.num_examples))
            arrays, run_counts = make_examples(
                cut, rows, rng, self.encoder, self.config
            )
            keys = rng.integers(0, 2**64, len(rows), np.uint64)
            counts = count_examples(arrays, run_counts)
            if begin == 0:
                counts["num_skipped_chunks"] = cut.num_skipped
            yield keys, *serialize_examples(arrays), counts

    def _generator(self, *key):
        sequence = np.random.SeedSequence(self.config.seed, spawn_key=key)
        return np.random.Generator(np.random.PCG64(sequence))


def _batches(documents):
    """Yields lists of documents; the last one may be empty."""
    batch, num_characters = [], 0
    for document in documents:
        batch.append(document)
        num_characters += sum(map(len, document))
        if num_characters >= _BATCH_CHARACTERS:
            yield batch
            batch, num_characters = [], 0
    yield batch
