"""Stream of examples from a token store, with new pairs and masks in each epoch.

Each epoch shuffles the store's blocks and takes them in windows. The documents of a
window are cut into pairs, which are shuffled, packed and masked in groups.
"""

import itertools

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

    def __init__(self, size, special_token_ids):
        self._size = size
        self.special_token_ids = special_token_ids
        self.pad_token_id, self.unk_token_id, *others = special_token_ids
        self.cls_token_id, self.sep_token_id, self.mask_token_id = others

    def vocabulary_size(self):
        """Returns the number of token ids."""
        return self._size


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
        self._vocabulary = StoredVocabulary(
            description["vocabulary_size"], description["special_token_ids"]
        )
        self._blocks = [
            (to_path(folder) / name, block)
            for name, blocks in description["shards"].items()
            for block in blocks
        ]

    def count_examples(self, epoch=0):
        """Returns the number of examples of one epoch."""
        windows = self._windows(epoch)
        return sum(self._cut(*window, True).num_examples for window in windows)

    def empty_batch(self):
        """Returns a batch of no examples, with the shapes and types of all arrays."""
        cut = self._cut(*next(self._windows(0)), lengths_only=True)
        rows, rng = np.empty(0, np.int64), make_generator(self._seed)
        return make_examples(cut, rows, rng, self._vocabulary, self._config)[0]

    def batches(self, batch_size, start=0, num_epochs=None):
        """Returns an iterator of batches, dicts of arrays (see `make_examples`).

        Args:
            batch_size: int >= 1. Only the last batch may be smaller.
            start: int >= 0. Number of examples to skip.
            num_epochs: int, or None for an endless stream.
        """
        return in_batches(self._groups(start, num_epochs), batch_size)

    def _groups(self, skipped, num_epochs):
        """Yields groups of examples, without the first `skipped` examples."""
        epochs = itertools.count() if num_epochs is None else range(num_epochs)
        for window in itertools.chain.from_iterable(map(self._windows, epochs)):
            if skipped:
                size = self._cut(*window, lengths_only=True).num_examples
                if skipped >= size:
                    skipped -= size
                    continue
            yield from self._make_window(*window, skipped)
            skipped = 0

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

    def _make_window(self, key, blocks, skipped):
        """Yields groups of a window's examples, without the first `skipped` ones."""
        cut = self._cut(key, blocks)
        rng = make_generator(self._seed, _PAIRS, *key, 0)
        order = rng.permutation(cut.num_examples)
        for group, begin in enumerate(range(0, cut.num_examples, GROUP_EXAMPLES)):
            rows = order[begin : begin + GROUP_EXAMPLES]
            if begin + len(rows) <= skipped:
                continue
            rng = make_generator(self._seed, _MASKS, *key, group)
            arrays, _ = make_examples(cut, rows, rng, self._vocabulary, self._config)
            yield _slice(arrays, max(0, skipped - begin), None)


def in_batches(groups, batch_size):
    """Divides groups of examples, dicts of arrays; the last batch may be smaller."""
    waiting, num_waiting = [], 0
    for group in groups:
        waiting.append(group)
        num_waiting += len(group["token_ids"])
        if num_waiting < batch_size:
            continue
        examples = _join(waiting)
        num_whole = num_waiting - num_waiting % batch_size
        for begin in range(0, num_whole, batch_size):
            yield _slice(examples, begin, begin + batch_size)
        waiting = [_slice(examples, num_whole, None)]
        num_waiting -= num_whole
    if num_waiting:
        yield _join(waiting)


def _slice(arrays, begin, end):
    return {name: values[begin:end] for name, values in arrays.items()}


def _join(groups):
    return {name: np.concatenate([g[name] for g in groups]) for name in groups[0]}
