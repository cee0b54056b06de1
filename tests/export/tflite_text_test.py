"""Text in the graph of a TFLite file. tests/export/tflite_test.py predicts with it."""

import pytest
import tensorflow as tf

from albert_keras.export.tflite_text import text_signatures
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from tests.helpers import max_difference


@pytest.mark.slow
def test_a_signature_of_pairs_equals_the_preprocessor(classifier, tokenizer, texts):
    pytest.importorskip("tensorflow_text")
    exits = {"serving_default": {}}
    (serve,) = text_signatures(classifier, tokenizer, 13, True, exits).values()
    pairs = texts, texts[::-1]
    names = ("text", "text_pair")
    received = serve(**dict(zip(names, map(tf.constant, pairs), strict=True)))
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, sequence_length=13)
    expected = classifier(preprocessor(x=pairs))
    assert max_difference(received["logits"], expected) < 1e-5
