"""Stream of examples from a token store, with new pairs and masks in each epoch.

Each epoch shuffles the store's blocks and takes them in windows. The documents of a
window are cut into pairs, which are shuffled, packed and masked in groups.
"""

import itertools
import math

import numpy as np

from albert_keras.pretraining.documents import join_documents
from albert_keras.pretraining.examples import (
    GROUP_EXAMPLES,
    cut_examples,
    make_examples,
    make_generator,
)
from albert_keras.pretraining.token_store import read_block
from albert_keras.system.storage import to_path

# About eight million tokens: 32 MB, or 16,000 examples of length 512.
WINDOW_BLOCKS = 16

# First numbers of the random generators' keys.
_BLOCK_ORDER, _PAIRS, _MASKS = 0, 1, 2


class StoredVocabulary:
    """Vocabulary size and special token ids of a tokenizer, as stored with the data."""

    def __init__(self, description):
        self.vocabulary_size = lambda: description["vocabulary_size"]
        self.special_token_ids = description["special_token_ids"]
        self.pad_token_id, self.unk_token_id, *others = self.special_token_ids
        self.cls_token_id, self.sep_token_id, self.mask_token_id = others


class ExampleStream:
    """Stream of the examples of a token store, epoch after epoch.

    Each epoch, window and group of 512 examples has its own random generator, derived
    from the seed, so the stream can begin anywhere. To find example N, the examples of
    the windows before it are counted from the sentence lengths, a twentieth of the
    store, in about 10 ns a token (100 ns for filled rows).

    Args:
        folder: str or path of the store.
        description: dict. Content of its `dataset.json`.
        config: `PretrainingDataConfig`.
        seed: int >= 0.
    """

    def __init__(self, folder, description, config, seed):
        self._config = config
        self._seed = seed
        self._vocabulary = StoredVocabulary(description)
        self._blocks = [
            (to_path(folder) / name, block)
            for name, blocks in description["shards"].items()
            for block in blocks
        ]

    def count_examples(self, epoch=0):
        """Returns the number of examples of one epoch."""
        return sum(self.count_windows(epoch)[0])

    def count_windows(self, epoch):
        """Returns the number of examples of each window, and of all skipped chunks."""
        sizes, num_skipped = [], 0
        for window in self._windows(epoch):
            cut = self._cut(*window, lengths_only=True)
            sizes.append(cut.num_examples)
            num_skipped += cut.num_skipped
        return sizes, num_skipped

    def empty_batch(self):
        """Returns a batch of no examples, with the shapes and types of all arrays."""
        cut = self._cut(*next(self._windows(0)), lengths_only=True)
        rows, rng = np.empty(0, np.int64), make_generator(self._seed)
        return make_examples(cut, rows, rng, self._vocabulary, self._config)[0]

    def batches(self, batch_size, start=0, stop=math.inf):
        """Returns an iterator of batches, dicts of arrays (see `make_examples`).

        Args:
            batch_size: int >= 1. Only the last batch may be smaller.
            start: int >= 0. Number of examples to skip.
            stop: int >= start. Number of examples at which it ends; default: never.
        """
        return in_batches((g for g, _ in self.groups(start, stop)), batch_size)

    def groups(self, start=0, stop=math.inf, sizes=()):
        """Yields the arrays of some examples, and their masked n-grams by size.

        The n-grams of a group, `run_counts` of `make_examples`, go with its first
        example. Arguments are as for `batches`; `sizes` are those of `count_windows`,
        epoch after epoch, if they are known.
        """
        begin, epochs = 0, itertools.count() if self._blocks else ()
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
            rng = make_generator(self._seed, _PAIRS, *key, 0)
            order = rng.permutation(cut.num_examples)
            for group, place in enumerate(range(0, len(order), GROUP_EXAMPLES)):
                rows = order[place : place + GROUP_EXAMPLES]
                end = min(begin + len(rows), stop)
                first, last = max(start - begin, 0), end - begin
                if first < last:
                    rng = make_generator(self._seed, _MASKS, *key, group)
                    given = rows, rng, self._vocabulary, self._config
                    arrays, run_counts = make_examples(cut, *given)
                    yield slice_rows(arrays, first, last), run_counts * (first == 0)
                begin = end

    def _windows(self, epoch):
        """Yields `(epoch, number)` and the blocks of each window."""
        rng = make_generator(self._seed, _BLOCK_ORDER, epoch)
        order = rng.permutation(len(self._blocks))
        for index, begin in enumerate(range(0, len(order), WINDOW_BLOCKS)):
            chosen = order[begin : begin + WINDOW_BLOCKS].tolist()
            yield (epoch, index), [self._blocks[block] for block in chosen]

    def _cut(self, key, blocks, lengths_only=False):
        documents = [read_block(*block, lengths_only) for block in blocks]
        rng = make_generator(self._seed, _PAIRS, *key)
        return cut_examples(join_documents(documents), rng, self._config)


def in_batches(groups, batch_size):
    """Divides groups of examples, dicts of arrays; the last batch may be smaller."""
    waiting, size = [], 0
    for group in groups:
        waiting.append(group)
        size += len(group["token_ids"])
        if size >= batch_size:
            examples, whole = _join(waiting), size - size % batch_size
            for begin in range(0, whole, batch_size):
                yield slice_rows(examples, begin, begin + batch_size)
            waiting, size = [slice_rows(examples, whole, None)], size - whole
    if size:
        yield _join(waiting)


def slice_rows(arrays, begin, end):
    """Returns some rows of each of the arrays in a dict."""
    return {name: values[begin:end] for name, values in arrays.items()}


def _join(groups):
    return {name: np.concatenate([g[name] for g in groups]) for name in groups[0]}
