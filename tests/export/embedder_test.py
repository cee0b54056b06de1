"""Exported embedders: the vectors of the Keras model, and nothing else."""

import pytest
import tensorflow as tf

import albert_keras as ak
from tests.export.conftest import TEXTS
from tests.helpers import max_difference, randomize


@pytest.fixture(scope="module")
def embedder(tokenizer):
    backbone = ak.AlbertBackbone.from_config_preset(
        "albert_test",
        vocabulary_size=tokenizer.vocabulary_size(),
        max_sequence_length=23,
    )
    preprocessor = ak.AlbertTextEmbedderPreprocessor(tokenizer, sequence_length=21)
    return randomize(ak.AlbertTextEmbedder(backbone, preprocessor, dense_dim=9))


def test_a_saved_model_takes_text_and_gives_vectors(embedder, tmp_path):
    ak.export_saved_model(embedder, tmp_path / "model")
    outputs = ak.load_exported(tmp_path / "model").predict(TEXTS)
    assert [*outputs] == ["embedding"]
    assert max_difference(outputs["embedding"], embedder.encode_text(TEXTS)) < 1e-5
    # None of pairs.
    signatures = tf.saved_model.load(str(tmp_path / "model")).signatures
    assert [*signatures] == ["serving_default"]


@pytest.mark.parametrize(("quantization", "bound"), [(None, 1e-5), ("int8", 0.2)])
def test_tflite_takes_text_and_gives_the_first_dimensions(
    quantization, bound, embedder, tmp_path
):
    small = embedder.with_dimensions(4)
    tokenizer = embedder.preprocessor.tokenizer
    file = tmp_path / "model.tflite"
    ak.export_tflite(small, file, quantization, tokenizer)
    outputs = ak.load_exported(file).predict(TEXTS)
    assert [*outputs] == ["embedding"]
    assert outputs["embedding"].shape == (len(TEXTS), 4)
    assert max_difference(outputs["embedding"], small.encode_text(TEXTS)) < bound
