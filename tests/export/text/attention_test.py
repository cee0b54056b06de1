"""Attention of a SavedModel against that of the backbone."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.analysis import attention_maps
from albert_keras.export import export_saved_model
from albert_keras.export.text.attention import attention_signature
from albert_keras.preprocessors.texts import pack_texts

TEXTS = ["The baker counts storms.", "", "in 2012 the gulls went to the lighthouse"]


@pytest.mark.slow
def test_shares_are_those_of_the_backbone(backbone, tokenizer):
    serve = attention_signature(backbone, tokenizer, 13, takes_pairs=True)
    outputs = serve(text=tf.constant(TEXTS), text_pair=tf.constant(TEXTS[::-1]))
    tokens, attention = outputs["tokens"].numpy(), outputs["attention"].numpy()
    for number, pair in enumerate(zip(TEXTS, TEXTS[::-1], strict=True)):
        rows = [[text] for text in pair]
        examples = pack_texts(tokenizer.encoder, *rows, sequence_length=13)
        expected = attention_maps(backbone, tokenizer, examples)
        length = len(expected.tokens)
        found = [token.decode() for token in tokens[number]]
        assert found == expected.tokens + [""] * (len(found) - length)
        shares = attention[number, :, :, :length, :length]
        assert np.abs(shares - np.concatenate(expected.attention)).max() < 1e-5


def test_attention_without_a_tokenizer_is_refused(classifier, tmp_path):
    with pytest.raises(ValueError, match="needs a tokenizer. Received: attention=True"):
        export_saved_model(
            classifier, tmp_path / "model", tokenizer=None, attention=True
        )
