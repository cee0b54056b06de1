"""What masked pieces can be predicted from without a network: n-gram frequencies."""

import pathlib

import numpy as np

from albert_keras.pretraining import pretraining_validation_dataset, read_description
from albert_keras.pretraining.documents import split_marks
from albert_keras.pretraining.token_store import read_block

# N-grams that may wait to be counted: 32 MB.
_MAX_WAITING = 2**22


def unigram_loss(train_source, source, tokenizer):
    """Cross-entropy of predicting masked pieces by their frequency alone.

    About what a model that uses no context reaches: a pretrained one must be well
    below. It is `trigram_loss` without contexts. The frequency is that in the text; of
    masked pieces alone it differs a little, by 0.1 nats where examples are so short that
    long words seldom fit what may be masked.

    Args:
        train_source: str or path of the token store or records to count pieces in.
        source: Data whose masked pieces are predicted, see
            `pretraining_validation_dataset`.
        tokenizer: Gives `vocabulary_size()` and `special_token_ids`.

    Returns:
        float, nats a masked piece.
    """
    return _ngram_loss(train_source, source, tokenizer, max_order=1)


def trigram_loss(train_source, source, tokenizer):
    """Cross-entropy of predicting masked pieces from the two visible pieces before.

    A trigram model of pieces, interpolated with those of lower order by absolute
    discounting:

        p(w | u, v) = (max(c(u, v, w) - D, 0) + D * n(u, v) * p(w | v)) / c(u, v)

    where c are counts in the training text, n(u, v) is the number of different pieces
    after u, v, and D = (n1 + 1) / (n1 + 2 * n2 + 2) with n1 and n2 the n-grams counted
    once and twice: the leave-one-out estimate, kept off 0 and 1. Likewise p(w | v) upon
    p(w), and p(w) upon equal chances for all pieces but special ones. Nothing is fitted
    on the data that is predicted.

    It sees the corrupted input, as the model does, but of it only the left. A context
    that holds a special piece, `[MASK]` above all, or was not met in training, is cut
    to what is right of it. Replaced and kept pieces are taken for what they look like.
    N-grams run on from sentence to sentence, not from document to document; in records,
    whose text is restored, not from segment to segment either. Records repeat a text
    `dupe_factor` times, by which their counts are divided.

    Only n-grams whose contexts are asked for are counted, so memory is bounded by what
    is predicted, whatever the size of the training data.

    Args:
        train_source: str or path of the token store or records to count pieces in.
        source: Data whose masked pieces are predicted, see
            `pretraining_validation_dataset`.
        tokenizer: Gives `vocabulary_size()` and `special_token_ids`.

    Returns:
        float, nats a masked piece.

    Reference: Ney, Essen and Kneser 1994, On structuring probabilistic dependences in
    stochastic language modelling.
    """
    return _ngram_loss(train_source, source, tokenizer, max_order=3)


def _ngram_loss(train_source, source, tokenizer, max_order):
    vocabulary_size = tokenizer.vocabulary_size()
    is_special = np.zeros(vocabulary_size, bool)
    is_special[tokenizer.special_token_ids] = True
    targets = _masked_ngrams(source, max_order)
    has_context = [
        ~is_special[targets[max_order - order : -1]].any(axis=0)
        for order in range(1, max_order + 1)
    ]
    asked = [
        _encode(targets[max_order - order :, rows], vocabulary_size)
        for order, rows in enumerate(has_context, 1)
    ]
    tables = [_NgramTable(codes, vocabulary_size) for codes in asked]
    for token_ids in _training_texts(train_source, tokenizer):
        for order, table in enumerate(tables, 1):
            table.add(_ngrams_of(token_ids, order, is_special))
    chances = np.full(targets.shape[1], 1 / (~is_special).sum())
    repetitions = _repetitions(train_source)
    for table, rows, codes in zip(tables, has_context, asked, strict=True):
        chances[rows] = table.interpolate(codes, chances[rows], repetitions)
    return float(-np.log(chances).mean())


def _masked_ngrams(source, order):
    """Returns masked pieces and what is visible before, `(order, num_predictions)`."""
    found = []
    for features, labels, weights in pretraining_validation_dataset(
        source, 256, sentence_pairs=False
    ):
        rows, places = np.nonzero(weights["mlm_logits"].numpy())
        columns = features["mask_positions"].numpy()[rows, places]
        visible = features["token_ids"].numpy()
        # Left of the row is its end, which no context reaches: [CLS] is in between.
        before = [visible[rows, columns - back] for back in range(order - 1, 0, -1)]
        found.append([*before, labels["mlm_logits"].numpy()[rows, places]])
    return np.concatenate(found, axis=1)


def _training_texts(source, tokenizer):
    """Yields token ids, with special ones between what does not go on from another."""
    description = read_description(source) or {}
    if description.get("kind") != "tokens":
        yield from _restored_records(source)
        return
    for name, blocks in description["shards"].items():
        for block in blocks:
            documents = read_block(pathlib.Path(source, name), block)
            token_ids, _ = split_marks(documents.marked_ids)
            ends = documents.sentence_offsets[documents.document_offsets[1:]]
            yield np.insert(token_ids, ends, tokenizer.sep_token_id)


def _restored_records(source):
    for features, labels, weights in pretraining_validation_dataset(
        source, 256, sentence_pairs=False
    ):
        token_ids = features["token_ids"].numpy()
        rows, places = np.nonzero(weights["mlm_logits"].numpy())
        columns = features["mask_positions"].numpy()[rows, places]
        token_ids[rows, columns] = labels["mlm_logits"].numpy()[rows, places]
        yield token_ids.ravel()


def _repetitions(source):
    """Returns how often each text stands in the data."""
    description = read_description(source) or {}
    if description.get("kind") == "tokens":
        return 1
    return description.get("config", {}).get("dupe_factor", 1)


def _ngrams_of(token_ids, order, is_special):
    """Returns the codes of all n-grams without special pieces."""
    num_ngrams = max(0, len(token_ids) - order + 1)
    ngrams = np.stack([token_ids[i : i + num_ngrams] for i in range(order)])
    return _encode(ngrams[:, ~is_special[ngrams].any(axis=0)], len(is_special))


def _encode(ngrams, vocabulary_size):
    """Returns each column as one integer, whose last digit is the last piece."""
    codes = np.zeros(ngrams.shape[1], np.int64)
    for token_ids in ngrams:
        codes = codes * vocabulary_size + token_ids
    return codes


class _NgramTable:
    """Counts of n-grams of one order, those that begin as one that is asked for."""

    def __init__(self, asked, vocabulary_size):
        self._vocabulary_size = vocabulary_size
        self._contexts = np.unique(asked // vocabulary_size)
        self._codes = self._counts = np.empty(0, np.int64)
        self._waiting, self._num_waiting = [], 0

    def add(self, codes):
        _, is_asked = _find(self._contexts, codes // self._vocabulary_size)
        self._waiting.append(codes[is_asked])
        self._num_waiting += len(self._waiting[-1])
        # Waiting as long as the table is large keeps its merging linear in the text.
        if self._num_waiting > max(_MAX_WAITING, len(self._codes)):
            self._merge()

    def _merge(self):
        waiting = np.concatenate([self._codes[:0], *self._waiting])
        codes, counts = np.unique(waiting, return_counts=True)
        codes, places = np.unique(np.append(self._codes, codes), return_inverse=True)
        counts = np.append(self._counts, counts)
        # Floats count exactly up to 2 ** 53.
        self._counts = np.bincount(places, counts).astype(np.int64)
        self._codes = codes
        self._waiting, self._num_waiting = [], 0

    def interpolate(self, codes, chances, repetitions):
        """Returns the chances of n-grams' last pieces, given those without context."""
        self._merge()
        counts = np.maximum(np.rint(self._counts / repetitions), 1)
        once, twice = (counts == 1).sum(), (counts == 2).sum()
        discount = (once + 1) / (once + 2 * twice + 2)
        contexts, begins, num_types = np.unique(
            self._codes // self._vocabulary_size, return_index=True, return_counts=True
        )
        totals = np.add.reduceat(counts, begins)
        places, is_met = _find(contexts, codes // self._vocabulary_size)
        totals, num_types = totals[places[is_met]], num_types[places[is_met]]
        places, is_counted = _find(self._codes, codes)
        kept = np.zeros(len(codes))
        kept[is_counted] = counts[places[is_counted]] - discount
        interpolated = chances.copy()
        interpolated[is_met] *= discount * num_types
        interpolated[is_met] = (interpolated[is_met] + kept[is_met]) / totals
        return interpolated


def _find(ordered, values):
    """Returns where values stand in an ordered array, and whether they do."""
    places = np.searchsorted(ordered, values)
    is_found = places < len(ordered)
    is_found[is_found] = ordered[places[is_found]] == values[is_found]
    return places, is_found
