"""Preprocessing of raw text for masked language models, with or without pairs."""

import sys

import keras
import keras_hub
import numpy as np

from albert_keras.preprocessors.segment_packer import PacksSegments


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertMaskedLMPreprocessor(PacksSegments, keras_hub.models.MaskedLMPreprocessor):
    """Tokenizes, packs and masks texts anew in each epoch, for `AlbertMaskedLM`.

    keras-hub's preprocessor, with its arguments: single tokens are masked. The paper's
    n-gram masks are those of `albert-keras pretrain`.

    Output shape:
        Tuple of features, labels and weights. Features: the backbone's dict `(batch,
        sequence_length)` and `mask_positions` `(batch, mask_selection_length)`. Of the
        latter shape, the labels, which are the ids of the masked tokens, and their
        weights, 0 on padding.

    Example:

    ```python
    masked_lm = ak.AlbertMaskedLM.from_preset("albert_base_v2")
    masked_lm.fit(["The quick brown fox jumped.", "I forgot my homework."])
    ```
    """


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertPretrainerPreprocessor(AlbertMaskedLMPreprocessor):
    """The same for `AlbertPretrainer`, with the order of two segments as a label.

    Input shape:
        `x`, tuple of first and second segments, str `(batch,)`, which follow each other
        in a text; or single texts, for a model without a head for pairs. `y`, 1 for
        segments that are swapped already, else 0, `(batch,)`; by default half of the
        pairs are swapped here, at random.

    Output shape:
        As of `AlbertMaskedLMPreprocessor`, but labels and weights are dicts by output:
        `mlm_logits`, and of pairs `sop_logits` `(batch,)`.
    """

    def call(self, x, y=None, sample_weight=None):
        labels, weights = {}, {}
        if isinstance(x, tuple):
            if y is None:
                x, y = _swap_half(*x)
            labels["sop_logits"] = y
            weights["sop_logits"] = keras.ops.ones_like(y, "float32")
        features, labels["mlm_logits"], weights["mlm_logits"] = super().call(x)
        return features, labels, weights


def _swap_half(first, second):
    """Returns the tuple of segments, half of them swapped, and int32 labels."""
    # A TensorFlow tensor can exist only if TensorFlow was imported.
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and tensorflow.is_tensor(first):
        shape = tensorflow.shape(first)
        is_swapped = tensorflow.random.uniform(shape) < 0.5
        where = tensorflow.where
    else:
        is_swapped = np.random.random(len(first)) < 0.5
        where = _choose
    swapped = where(is_swapped, second, first), where(is_swapped, first, second)
    return swapped, keras.ops.cast(is_swapped, "int32")


def _choose(conditions, first, second):
    rows = zip(conditions, first, second, strict=True)
    return [a if condition else b for condition, a, b in rows]
