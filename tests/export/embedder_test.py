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


@pytest.mark.parametrize(
    ("name", "options", "bound"),
    [
        ("saved_model", {}, 1e-5),
        ("tflite", {}, 1e-5),
        ("tflite", {"quantization": "int8"}, 0.2),
    ],
)
def test_exports_take_text_and_give_the_first_dimensions(
    name, options, bound, embedder, tmp_path
):
    small = embedder.with_dimensions(4)
    options = {**options, "tokenizer": embedder.preprocessor.tokenizer}
    ak.export.EXPORTERS[name].write(small, tmp_path / "a", **options)
    outputs = ak.load_exported(tmp_path / "a").predict(TEXTS)
    assert [*outputs] == ["embedding"]
    assert outputs["embedding"].shape == (len(TEXTS), 4)
    assert max_difference(outputs["embedding"], small.encode_text(TEXTS)) < bound
    if name == "saved_model":
        # None of pairs.
        signatures = tf.saved_model.load(str(tmp_path / "a")).signatures
        assert [*signatures] == ["serving_default"]
