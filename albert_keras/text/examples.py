"""Tokenized examples of different lengths, and padded batches of them."""

import dataclasses

import numpy as np

from albert_keras.tokenizers.ragged import ragged_positions


@dataclasses.dataclass(frozen=True)
class Examples:
    """Packed sequences without padding, stored end to end.

    Args:
        offsets: int64 `(num_sequences + 1,)`. Offsets where each sequence begins, and the
            last one ends.
        token_arrays: Dict of arrays `(num_tokens, ...)`: `token_ids`, `segment_ids`, and
            other values for the tokens of a task.
        example_arrays: Dict of arrays `(num_examples, ...)`, such as labels.
        num_choices: int, or `None` for 1 without an axis of choices. Number of
            consecutive sequences that form an example.
    """

    offsets: np.ndarray
    token_arrays: dict
    example_arrays: dict = dataclasses.field(default_factory=dict)
    num_choices: int | None = None

    @property
    def num_examples(self):
        """Number of examples."""
        return (len(self.offsets) - 1) // (self.num_choices or 1)

    @property
    def lengths(self):
        """Tokens of the longest sequence of each example, `(num_examples,)`."""
        return np.diff(self.offsets).reshape(-1, self.num_choices or 1).max(axis=1)

    def with_arrays(self, **arrays):
        """Returns a copy with arrays `(num_examples, ...)` added or replaced."""
        arrays = {**self.example_arrays, **arrays}
        return dataclasses.replace(self, example_arrays=arrays)

    def token_positions(self, rows):
        """Returns the positions of examples' tokens in the arrays of tokens.

        Their order is that of the real tokens in a padded batch of these `rows`. Examples
        must not have choices.
        """
        return ragged_positions(self.offsets[rows], self.lengths[rows])

    def padded(self, rows, length):
        """Returns a batch of the examples `rows`, padded to `length` tokens.

        Returns:
            Dict of arrays: `token_arrays`, padded with zeros, and int32 `padding_mask`, 1
            on real tokens, `(batch, length, ...)`, or with choices
            `(batch, num_choices, length, ...)`; and `example_arrays`, `(batch, ...)`.
        """
        sequences = np.asarray(rows)
        if self.num_choices:
            choices = np.arange(self.num_choices)
            sequences = sequences[:, np.newaxis] * self.num_choices + choices
        # (batch, 1) or (batch, num_choices, 1)
        starts = self.offsets[sequences][..., np.newaxis]
        ends = self.offsets[sequences + 1][..., np.newaxis]
        positions = starts + np.arange(length)
        is_token = positions < ends
        positions = np.where(is_token, positions, 0)
        batch = {"padding_mask": is_token.astype(np.int32)}
        for name, array in self.token_arrays.items():
            values = array[positions]
            values[~is_token] = 0
            batch[name] = values
        return batch | {
            name: array[rows] for name, array in self.example_arrays.items()
        }
