"""Masked words of a SavedModel against `fill_mask`."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import AlbertMaskedLM
from albert_keras.preprocessors import AlbertMaskedLMPreprocessor
from albert_keras.tasks.masked_words import MaskedWordsTask, fill_mask
from tests.export.text.conftest import STRANGE, approximately

TEXTS = [
    "the [MASK] counts storms",
    "[MASK] [MASK] in 2012, [MASK].",
    *(f"a [MASK] {text[:12]}" for text in STRANGE),
]


def predicted(model, tokenizer, texts):
    task = MaskedWordsTask(tokenizer)
    prepared = task.prepare(texts)
    return approximately(task.describe(prepared, task.predict(model, prepared, 2)))


@pytest.mark.slow
def test_masks_are_filled_as_by_the_model(backbone, tokenizer, serve):
    preprocessor = AlbertMaskedLMPreprocessor(
        tokenizer, sequence_length=19, mask_selection_length=3
    )
    model = AlbertMaskedLM(backbone, preprocessor)
    predictor, signatures = serve(model)
    assert predictor.predict(TEXTS, 2) == predicted(model, tokenizer, TEXTS)

    signature = signatures["serving_default"]
    outputs = signature(text=tf.constant(["a [MASK]", "[MASK] [MASK]"]))
    assert outputs["tokens"].shape == (2, 2, 5)
    expected = fill_mask(model, ["a [MASK]", "[MASK] [MASK]"])
    shares = [token.probability for token in expected[0][0]]
    assert outputs["probabilities"][0].numpy() == pytest.approx(
        np.array([shares, [0.0] * 5]), rel=1e-4
    )
    for text in ("no mask", "[MASK] storms" * 20):
        with pytest.raises(ValueError, match=r"have a \[MASK\], .*Received: '"):
            predictor.predict(["a [MASK]", text])
        # A server may have put texts of others into the batch.
        outputs = signature(text=tf.constant([text]))
        assert outputs["tokens"].numpy().tolist() == [[[b""] * 5]]
