"""Exported embedders: the vectors of the Keras model, and nothing else."""

import numpy as np
import onnxruntime
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


def test_onnx_has_the_names_of_optimum(embedder, tmp_path):
    ak.export_onnx(embedder, tmp_path / "onnx", names="huggingface")
    session = onnxruntime.InferenceSession(tmp_path / "onnx" / "onnx" / "model.onnx")
    features = embedder.preprocessor(TEXTS)
    theirs = {
        "input_ids": features["token_ids"],
        "attention_mask": features["padding_mask"],
        "token_type_ids": features["segment_ids"],
    }
    theirs = {name: np.asarray(ids).astype("int64") for name, ids in theirs.items()}
    names = [output.name for output in session.get_outputs()]
    outputs = dict(zip(names, session.run(names, theirs), strict=True))
    assert outputs.keys() == {"token_embeddings", "sentence_embedding"}
    expected = embedder.encode_text(TEXTS)
    assert max_difference(outputs["sentence_embedding"], expected) < 1e-5
