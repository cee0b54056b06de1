"""Base class of encoders: text to token ids in plain Python."""

import itertools
import warnings
from unicodedata import combining, normalize

import numpy as np

from albert_keras.checks import check_is_list, check_text, shown
from albert_keras.tokenizers.ragged import offsets_of

# Characters encoded at once, to bound the memory of intermediate lists.
_PART_CHARACTERS = 2**18


class Encoder:
    """Encodes text as token ids in plain Python, without TensorFlow.

    Keras layers delegate to it, and worker processes use it directly, pickled. Subclasses
    add `_encode_part`, `_decode_rows`, `encode_with_masks`, `tokenize_with_offsets`,
    `strips_accents` and `word_starts`.

    Args:
        vocabulary: list of str. The token of each id.
        special_tokens: The padding, unknown, classification, separator and mask tokens.
    """

    def __init__(self, vocabulary, special_tokens):
        self.special_tokens = list(special_tokens)
        self._vocabulary = vocabulary
        self._ids = {token: index for index, token in enumerate(vocabulary)}
        missing = [token for token in special_tokens if token not in self._ids]
        if missing:
            raise ValueError(
                f"An ALBERT vocabulary must have the tokens {self.special_tokens}. "
                f"Received: {len(vocabulary)} tokens without {missing}. "
                "Use a vocabulary made for ALBERT; `train_sentence_piece` makes one."
            )
        self.special_token_ids = [self._ids[token] for token in special_tokens]
        self.pad_token_id, self.unk_token_id = self.special_token_ids[:2]
        self.cls_token_id, self.sep_token_id = self.special_token_ids[2:4]
        self.mask_token_id = self.special_token_ids[4]
        self._has_seen_texts = False

    def encode_batch(self, texts):
        """Encodes a list of str as lists of ids, without adding special tokens."""
        token_ids, offsets = self.encode_ragged(texts)
        token_ids = token_ids.tolist()
        return [token_ids[a:b] for a, b in itertools.pairwise(offsets.tolist())]

    def encode_ragged(self, texts):
        """Encodes a list of str as two arrays, without adding special tokens.

        Returns:
            Tuple of the concatenated ids, int32 `(num_tokens,)`, and int64
            `(num_texts + 1,)`, the offsets where each text begins and the last one ends.
        """
        texts = _checked(texts)
        if not self._has_seen_texts:
            self._has_seen_texts = True
            self._check_accents(texts)
        parts = [self._encode_part(part) for part in _split(texts)]
        token_ids = [np.zeros(0, np.int32), *(ids for ids, _ in parts)]
        num_tokens = [np.zeros(0, np.int64), *(counts for _, counts in parts)]
        return np.concatenate(token_ids), offsets_of(np.concatenate(num_tokens))

    def _check_accents(self, texts):
        """Warns if a tenth of the first words have accents that are dropped."""
        words = " ".join(texts[:100])[:10_000].split()
        changed = [w for w in words if any(map(combining, normalize("NFKD", w)))]
        if self.strips_accents and len(changed) >= max(3, len(words) / 10):
            warnings.warn(
                f"The tokenizer strips accents, which changes {len(changed)} of "
                f"{len(words)} words, such as {shown(changed[0])}. For a model trained "
                "with accents, use `load_tokenizer(path, strip_accents=False)` or "
                "--keep-accents.",
                stacklevel=3,
            )

    def encode_ragged_with_spans(self, texts):
        """Encodes a list of str and locates each token in its text.

        Returns:
            Tuple of the two arrays of `encode_ragged`, and int32 `(num_tokens, 2)`, the
            start and end of each token in the characters of its text.
        """
        token_ids, spans = [], []
        for text in _checked(texts):
            ids, offsets = self.tokenize_with_offsets(text)
            token_ids.append(np.array(ids, np.int32))
            spans.append(np.array(offsets, np.int32).reshape(-1, 2))
        return (
            np.concatenate([np.zeros(0, np.int32), *token_ids]),
            offsets_of([len(ids) for ids in token_ids]),
            np.concatenate([np.zeros((0, 2), np.int32), *spans]),
        )

    def decode_batch(self, rows):
        """Decodes lists of ids as a list of str, without undoing normalization."""
        for row in rows:
            for index in row:
                self.id_to_token(index)
        return self._decode_rows(rows)

    def get_vocabulary(self):
        """Returns the token of each id, as a list."""
        return list(self._vocabulary)

    def vocabulary_size(self):
        """Returns the number of token ids."""
        return len(self._vocabulary)

    def id_to_token(self, index):
        """Returns the token of an id."""
        size = len(self._vocabulary)
        if not 0 <= index < size:
            raise ValueError(f"A token id must be in [0, {size}). Received: {index}.")
        return self._vocabulary[index]

    def token_to_id(self, token):
        """Returns the id of a token, or of the unknown token if there is none."""
        return self._ids.get(token, self.unk_token_id)


def join_rows(rows):
    """Concatenates lists of ids; returns int32 `(num_tokens,)`, and int64 lengths."""
    num_tokens = np.array([len(row) for row in rows], np.int64)
    ids = itertools.chain.from_iterable(rows)
    return np.fromiter(ids, np.int32, num_tokens.sum()), num_tokens


def _checked(texts):
    check_is_list("texts", texts)
    texts = list(texts)
    for text in texts:
        check_text(text)
    return texts


def _split(texts):
    """Splits a list of texts into lists of about `_PART_CHARACTERS` characters."""
    part_of = np.cumsum([len(text) for text in texts], dtype=int) // _PART_CHARACTERS
    bounds = [0, *(np.flatnonzero(np.diff(part_of)) + 1), len(texts)]
    return [texts[a:b] for a, b in itertools.pairwise(bounds) if a < b]
