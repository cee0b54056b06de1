"""Preprocessing of raw text for masked language models, with or without pairs."""

import sys
import warnings

import keras
import keras_hub
import numpy as np

from albert_keras.preprocessors.segment_packer import PacksSegments


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertMaskedLMPreprocessor(PacksSegments, keras_hub.models.MaskedLMPreprocessor):
    """Tokenizes, packs and masks texts, with new masks in each epoch.

    The preprocessor of `AlbertMaskedLM`, with all arguments of keras-hub's. It masks
    single tokens. `albert-keras pretrain` has the paper's n-gram masks. Masks are drawn
    for `predict` too. A `[MASK]` in the text is not one of them; use `fill_mask` for it.

    Output shape:
        Tuple of features, labels and weights. Features: the backbone's dict `(batch,
        sequence_length)`, and `mask_positions` `(batch, mask_selection_length)`. Labels:
        ids of the masked tokens `(batch, mask_selection_length)`. Weights: 0 on padding,
        of the same shape.

    Example:

    ```python
    masked_lm = ak.AlbertMaskedLM.from_preset("albert_base_v2")
    masked_lm.fit(["The quick brown fox jumped.", "I forgot my homework."])
    ```
    """

    def columns(self, x, y=None, *, is_batch=True):
        """Returns texts or pairs, and warns of a `[MASK]`, which is not predicted."""
        x, y = super().columns(x, y)
        mask = self.tokenizer.mask_token
        for column in x if isinstance(x, tuple) else (x,):
            texts = column if isinstance(column, list) else []
            if any(isinstance(text, str) and mask in text for text in texts):
                warnings.warn(
                    "The positions to predict are drawn at random. Received: text with "
                    f"{mask}, which is not one of them. `ak.tasks.fill_mask` fills it.",
                    stacklevel=2,
                )
        return x, y


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertPretrainerPreprocessor(AlbertMaskedLMPreprocessor):
    """Masks texts for `AlbertPretrainer`, with the order of two segments as a label.

    Input shape:
        `x`: tuple of first and second segments that follow each other in a text, str
        `(batch,)`; or single texts, for a model without a head for pairs. `y`: 1 for
        segments that are already swapped, else 0, `(batch,)`. Without `y`, half of the
        pairs are swapped at random. Models with other classes of pairs need `y`; single
        texts have none.

    Output shape:
        As for `AlbertMaskedLMPreprocessor`, but labels and weights are dicts by output:
        `mlm_logits`, and for pairs `sop_logits` `(batch,)`.
    """

    # keras-hub's `MaskedLMPreprocessor.from_preset` finds the other class.
    backbone_cls = None

    def call(self, x, y=None, sample_weight=None):
        is_pair = isinstance(x, tuple) and not isinstance(x[0], str)
        if sample_weight is not None or (y is not None and not is_pair):
            raise ValueError(
                "`y` must be labels of pairs in lists, and `sample_weight` must be None. "
                f"Received: x of type {type(x).__name__}, y={y}, "
                f"sample_weight={sample_weight}."
            )
        labels, weights = {}, {}
        if is_pair:
            arrays = _arrays_of(x[0])
            if y is None:
                x, y = _swap_half(arrays, *x)
            labels["sop_logits"] = y
            weights["sop_logits"] = arrays.ones_like(y, arrays.float32)
        features, labels["mlm_logits"], weights["mlm_logits"] = super().call(x)
        return features, labels, weights


def _arrays_of(texts):
    """Returns TensorFlow for its tensors, else NumPy, whatever Keras' backend is."""
    # A TensorFlow tensor can exist only if TensorFlow was imported.
    tensorflow = sys.modules.get("tensorflow")
    is_tensor = tensorflow is not None and tensorflow.is_tensor(texts)
    return tensorflow if is_tensor else np


def _swap_half(arrays, first, second):
    """Swaps half of the pairs at random; returns the segments, and int32 labels."""
    if arrays is np:
        y = np.random.randint(0, 2, len(first), np.int32)
    else:
        y = arrays.random.uniform(arrays.shape(first), 0, 2, arrays.int32)
    x = arrays.where(y == 1, second, first), arrays.where(y == 1, first, second)
    return (tuple(column.tolist() for column in x) if arrays is np else x), y
