"""Masks drawn anew, and swapped segments."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.preprocessors import (
    AlbertMaskedLMPreprocessor,
    AlbertPretrainerPreprocessor,
)

TEXTS = ["the quick brown fox", "a lazy dog and a quick one"] * 20
LENGTH, MASKS = 24, 5


@pytest.fixture(params=["lists", "tf.data"])
def masked(request, tokenizer):
    """Function from a class and inputs to its outputs, for lists and in `tf.data`."""

    def mask(cls, x, y=None):
        preprocessor = cls(tokenizer, LENGTH, mask_selection_length=MASKS)
        if request.param == "lists":
            return preprocessor(x=x, y=y)
        data = {"x": x} if y is None else {"x": x, "y": y}
        rows = tf.data.Dataset.from_tensor_slices(data).batch(40)
        return next(iter(rows.map(lambda data: preprocessor(**data))))

    return mask


def original(features, labels, weights):
    """Returns the token ids before they were masked."""
    ids = np.array(features["token_ids"])
    rows, columns = np.nonzero(np.array(weights))
    positions = np.array(features["mask_positions"])[rows, columns]
    ids[rows, positions] = np.array(labels)[rows, columns]
    return ids


def test_masked_tokens_are_the_labels(masked, tokenizer):
    keras.utils.set_random_seed(3)
    features, labels, weights = masked(AlbertMaskedLMPreprocessor, TEXTS)
    assert np.array(labels).shape == (40, MASKS)
    expected = [
        [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]
        for ids in tokenizer(TEXTS)
    ]
    restored = original(features, labels, weights)
    assert [row[row != tokenizer.pad_token_id].tolist() for row in restored] == expected
    num_masks = (np.array(features["token_ids"]) == tokenizer.mask_token_id).sum()
    assert 0.5 * np.sum(weights) < num_masks < np.sum(weights)


def test_half_of_the_pairs_are_swapped(masked, tokenizer):
    keras.utils.set_random_seed(7)
    first, second = ["a fox"] * 40, ["the quick dog"] * 40
    features, labels, weights = masked(AlbertPretrainerPreprocessor, (first, second))
    is_swapped = np.array(labels["sop_logits"])
    assert 10 < is_swapped.sum() < 30
    assert np.array(weights["sop_logits"]).tolist() == [1] * 40
    ids = original(features, labels["mlm_logits"], weights["mlm_logits"])
    begins = {0: tokenizer("a fox"), 1: tokenizer("the quick dog")}
    for row, label in zip(ids.tolist(), is_swapped.tolist(), strict=True):
        assert row[1 : 1 + len(begins[label])] == begins[label]


def test_weights_and_labels_of_single_texts_are_refused(masked):
    with pytest.raises(ValueError, match="`y` must be labels of pairs"):
        masked(AlbertPretrainerPreprocessor, TEXTS, np.zeros(40))


def test_masks_in_the_text_are_not_predicted(tokenizer):
    preprocessor = AlbertMaskedLMPreprocessor(tokenizer, LENGTH)
    for x in (["a [MASK] fox"], (["a fox"], ["[MASK]"])):
        with pytest.warns(UserWarning, match=r"with \[MASK\], .* `ak.tasks.fill_mask`"):
            preprocessor.columns(x)
    preprocessor.columns(TEXTS)
