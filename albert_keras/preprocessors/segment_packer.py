"""Packing of texts in preprocessors that inherit from keras-hub's."""

import keras
import keras_hub
import numpy as np

from albert_keras.checks import shown
from albert_keras.preprocessors.base import AlbertPreprocessor, transposed
from albert_keras.tokenizers import packing
from albert_keras.tokenizers.encoder import join_rows
from albert_keras.tokenizers.ragged import offsets_of


class PacksSegments(AlbertPreprocessor):
    """Mixin of keras-hub's preprocessors that checks texts, and packs them faster."""

    def build(self, input_shape):
        super().build(input_shape)
        if self.truncate == "round_robin":
            self.packer = SegmentPacker(self.tokenizer, self.sequence_length)

    def call(self, x, y=None, sample_weight=None):
        for texts in x if isinstance(x, tuple) else (x,):
            _check_are_texts(texts)
        return super().call(x, y, sample_weight)

    def columns(self, x, y=None, *, is_batch=True):
        """Returns texts, or a tuple of first and second texts."""
        # Column names of pandas are ignored.
        x = x.to_numpy() if hasattr(x, "to_numpy") else x
        is_too_wide = getattr(x, "ndim", 1) == 2 and x.shape[1] > 2
        x = x if is_too_wide else transposed(x)
        for column in x if isinstance(x, tuple) else (x,):
            _check_are_texts(column)
        return x, y


def _check_are_texts(texts):
    """Raises a ValueError, as keras-hub does, for rows that are not texts."""
    if isinstance(texts, np.ndarray):
        texts = texts.tolist()
    wrong = [shown(texts)] if getattr(texts, "ndim", 1) > 1 else []
    if not hasattr(texts, "dtype"):
        for number, row in enumerate(texts if isinstance(texts, list) else [texts]):
            if not isinstance(row, str | bytes):
                wrong.append(f"{shown(row)} in row {number}")
    if wrong:
        raise ValueError(
            "Texts must be a list of str, and pairs a list of tuples or a tuple of two "
            f"lists. Received: {wrong[0]}."
        )


class SegmentPacker(keras_hub.layers.MultiSegmentPacker):
    """keras-hub's packer, 100 times as fast for Python lists.

    Its graph has only TensorFlow's own operations, so that a SavedModel needs no others.
    """

    def __init__(self, tokenizer, sequence_length):
        special = tokenizer.cls_token_id, tokenizer.sep_token_id
        super().__init__(sequence_length, *special, pad_value=tokenizer.pad_token_id)
        self.cls_token_id, self.sep_token_id = special
        self.pad_token_id = tokenizer.pad_token_id

    # Not `call`: Keras would visit each number before it.
    def __call__(self, segments):
        """Returns `token_ids` and `segment_ids`, `(batch, sequence_length)`.

        Args:
            segments: Tuple of segments, each a list of lists of int or an int32 ragged
                tensor; without the batch axis for one text.
        """
        are_few = len(segments) < 3
        if are_few and isinstance(segments[0], list):
            return self._pack_lists(segments)
        if are_few and hasattr(segments[0], "row_lengths"):
            packed = packing.pack_tensors(segments, self, self.sequence_length)
            return packed["token_ids"], packed["segment_ids"]
        return super().__call__(segments)

    def _pack_lists(self, segments):
        is_single = not segments[0] or not isinstance(segments[0][0], list)
        texts = []
        for rows in segments:
            token_ids, lengths = join_rows([rows] if is_single else rows)
            texts.append(packing.whole_texts(token_ids, offsets_of(lengths)))
        texts = packing.truncate(texts, self.sequence_length)
        special = self.cls_token_id, self.sep_token_id
        offsets, packed = packing.pack_segments(texts, *special)
        padding = {"token_ids": self.pad_token_id, "segment_ids": 0}
        tensors = []
        for name, number in padding.items():
            ids = packing.pad_rows(offsets, packed[name], self.sequence_length, number)
            tensors.append(keras.ops.convert_to_tensor(ids[0] if is_single else ids))
        return tuple(tensors)
