"""Packing of token ids in keras-hub's preprocessors."""

import itertools

import numpy as np

from albert_keras.checks import shown
from albert_keras.preprocessors.base import AlbertPreprocessor, transposed
from albert_keras.tokenizers.packing import (
    pack_segments,
    pack_tensors,
    pad_rows,
    truncate,
    whole_texts,
)
from albert_keras.tokenizers.ragged import offsets_of


class PacksSegments(AlbertPreprocessor):
    """Mixin of keras-hub's preprocessors that packs as `tokenizers.packing`."""

    def build(self, input_shape):
        super().build(input_shape)
        config = self.tokenizer.get_config()
        for name in ("sequence_length", "add_bos", "add_eos"):
            if config.get(name):
                raise ValueError(
                    "The tokenizer of a preprocessor must not add or cut tokens. "
                    f"Received: {name}={config[name]}. Leave it out."
                )
        if self.truncate == "round_robin":
            self.packer = SegmentPacker(self.tokenizer, self.sequence_length)

    def columns(self, x, y=None, *, is_batch=True):
        """Returns texts, or a tuple of first and second texts."""
        # Of pandas, texts have no names here.
        x = x.to_numpy() if hasattr(x, "to_numpy") else x
        is_too_wide = getattr(x, "ndim", 1) == 2 and x.shape[1] > 2
        x = x if is_too_wide else transposed(x)
        for column in x if isinstance(x, tuple) else (x,):
            _check_is_column(column)
        return x, y


def _check_is_column(texts):
    if isinstance(texts, list):
        wrong = [text for text in texts if isinstance(text, list | tuple | dict)][:1]
    else:
        is_column = getattr(texts, "ndim", 1) == 1 and not isinstance(texts, dict)
        is_number = getattr(getattr(texts, "dtype", None), "kind", "O") in "iufb"
        wrong = [] if is_column and not is_number else [texts]
    if wrong:
        raise ValueError(
            "Texts must be a list of str, and pairs a list of tuples or a tuple of two "
            f"lists. Received: {shown(wrong[0])}."
        )


class SegmentPacker:
    """Packs token ids, as lists or as TensorFlow tensors, to rows of one length."""

    def __init__(self, tokenizer, sequence_length):
        self.tokenizer, self.sequence_length = tokenizer, sequence_length

    def __call__(self, segments):
        """Returns `token_ids` and `segment_ids`, `(batch, sequence_length)`.

        Args:
            segments: Tuple of one or two segments, each a list of lists of int or an
                int32 ragged tensor; or without the axis of the batch, of one text.
        """
        if isinstance(segments[0], list):
            return self._pack_lists(segments)
        packed = pack_tensors(segments, self.tokenizer, self.sequence_length)
        return packed["token_ids"], packed["segment_ids"]

    def _pack_lists(self, segments):
        is_single = not segments[0] or not isinstance(segments[0][0], list)
        texts = []
        for rows in segments:
            rows = [rows] if is_single else rows
            token_ids = np.array([*itertools.chain(*rows)], np.int32)
            texts.append(whole_texts(token_ids, offsets_of([len(row) for row in rows])))
        offsets, packed = pack_segments(
            truncate(texts, self.sequence_length),
            self.tokenizer.cls_token_id,
            self.tokenizer.sep_token_id,
        )
        padding = {"token_ids": self.tokenizer.pad_token_id, "segment_ids": 0}
        rows = (
            pad_rows(offsets, packed[name], self.sequence_length, number)
            for name, number in padding.items()
        )
        return tuple(ids[0] if is_single else ids for ids in rows)
