"""Stream of examples from a token store, with new pairs and masks in each epoch.

In each epoch the blocks of the store are shuffled, and divided into windows. The
documents of a window are cut into pairs, which are shuffled, and packed and masked in
groups.
"""

import itertools
import math

import numpy as np

from albert_keras.pretraining import examples
from albert_keras.pretraining.documents import join_documents
from albert_keras.pretraining.token_store import read_block

# About eight million tokens: 32 MB, or 16,000 examples of length 512.
WINDOW_BLOCKS = 16

# First numbers of the keys of random generators.
_BLOCK_ORDER, _PAIRS, _MASKS = 0, 1, 2


class StoredVocabulary:
    """Vocabulary size and special token ids that are stored with the data."""

    def __init__(self, description):
        self.vocabulary_size = lambda: description["vocabulary_size"]
        self.special_token_ids = description["special_token_ids"]
        self.pad_token_id, self.unk_token_id, *others = self.special_token_ids
        self.cls_token_id, self.sep_token_id, self.mask_token_id = others


class ExampleStream:
    """Stream of the examples of a token store, epoch after epoch.

    Each epoch, window and group of 512 examples has its own random generator, derived
    from the seed, so the stream can start anywhere. To find example N, the examples in
    earlier windows are counted. This needs only the sentence lengths, a twentieth of the
    store, and takes about 10 ns per token (100 ns for filled rows).

    Args:
        folder: Path of the store.
        shards: dict. The shards in its `dataset.json`.
        vocabulary: `StoredVocabulary`, or the encoder of the text.
        config: `PretrainingDataConfig`.
        seed: int >= 0.
    """

    def __init__(self, folder, shards, vocabulary, config, seed):
        self._vocabulary, self._config, self._seed = vocabulary, config, seed
        self._blocks = [
            (folder / name, block)
            for name, blocks in shards.items()
            for block in blocks
        ]

    def count_examples(self, epoch=0):
        """Returns the number of examples of one epoch."""
        return sum(self.count_windows(epoch)[0])

    def count_windows(self, epoch):
        """Returns the numbers of examples of all windows, and of skipped chunks."""
        sizes, num_skipped = [], 0
        for window in self._windows(epoch):
            cut = self._cut(*window, lengths_only=True)
            sizes.append(cut.num_examples)
            num_skipped += cut.num_skipped
        return sizes, num_skipped

    def empty_batch(self):
        """Returns a batch without examples, with the shapes and types of all arrays."""
        cut = self._cut(*next(self._windows(0)), lengths_only=True)
        rows, rng = np.empty(0, np.int64), examples.make_generator(self._seed)
        return examples.make_examples(cut, rows, rng, self._vocabulary, self._config)[0]

    def batches(self, batch_size, start=0, stop=math.inf):
        """Returns an iterator of batches, dicts of arrays (see `make_examples`).

        Args:
            batch_size: int >= 1. Only the last batch may be smaller.
            start: int >= 0. Number of examples to skip.
            stop: int >= start. Number of the example before which the stream ends.
                Default: it does not end.
        """
        return in_batches((g for g, _ in self.groups(start, stop)), batch_size)

    def groups(self, start=0, stop=math.inf, sizes=()):
        """Yields arrays of examples, and the counts of their masked n-grams.

        Arguments are as for `batches`; `sizes` are the results of `count_windows` of all
        epochs, if known. A group that is yielded in two parts has its counts (see
        `make_examples`) in the part with its first example.
        """
        # Without documents, no epoch would ever yield a window.
        epochs = itertools.count() if self._blocks else ()
        begin = 0
        windows = itertools.chain.from_iterable(map(self._windows, epochs))
        for number, (key, blocks) in enumerate(windows):
            if begin == stop:
                return
            if begin < start:
                known = sizes[number] if sizes else None
                size = known or self._cut(key, blocks, True).num_examples
                if begin + size <= start:
                    begin += size
                    continue
            cut = self._cut(key, blocks)
            rng = examples.make_generator(self._seed, _PAIRS, *key, 0)
            order = rng.permutation(cut.num_examples)
            size = examples.GROUP_EXAMPLES
            for group, place in enumerate(range(0, len(order), size)):
                rows = order[place : place + size]
                end = min(begin + len(rows), stop)
                first, last = max(start - begin, 0), end - begin
                if first < last:
                    rng = examples.make_generator(self._seed, _MASKS, *key, group)
                    given = rows, rng, self._vocabulary, self._config
                    arrays, ngram_counts = examples.make_examples(cut, *given)
                    yield slice_rows(arrays, first, last), ngram_counts * (first == 0)
                begin = end

    def _windows(self, epoch):
        """Yields `(epoch, number)` and the blocks of each window."""
        rng = examples.make_generator(self._seed, _BLOCK_ORDER, epoch)
        order = rng.permutation(len(self._blocks))
        for index, begin in enumerate(range(0, len(order), WINDOW_BLOCKS)):
            chosen = order[begin : begin + WINDOW_BLOCKS].tolist()
            yield (epoch, index), [self._blocks[block] for block in chosen]

    def _cut(self, key, blocks, lengths_only=False):
        documents = [read_block(*block, lengths_only) for block in blocks]
        rng = examples.make_generator(self._seed, _PAIRS, *key)
        return examples.cut_examples(join_documents(documents), rng, self._config)


def in_batches(groups, batch_size):
    """Joins and divides groups of examples to batches; the last one may be smaller."""
    waiting, size = [], 0
    for group in groups:
        waiting.append(group)
        size += len(group["token_ids"])
        if size >= batch_size:
            joined, whole = _join(waiting), size - size % batch_size
            for begin in range(0, whole, batch_size):
                yield slice_rows(joined, begin, begin + batch_size)
            waiting, size = [slice_rows(joined, whole, None)], size - whole
    if size:
        yield _join(waiting)


def slice_rows(arrays, begin, end):
    """Returns the rows from `begin` to `end` of all arrays in a dict."""
    return {name: values[begin:end] for name, values in arrays.items()}


def _join(groups):
    return {name: np.concatenate([g[name] for g in groups]) for name in groups[0]}
