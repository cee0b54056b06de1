"""The embedder's preprocessor: packing, presets, keras-hub's base class."""

import keras_hub
import numpy as np

import albert_keras as ak

TEXTS = ["a charming film", "", "word " * 40]


def test_texts_are_packed_as_for_classifiers(tmp_path):
    tokenizer = ak.load_tokenizer("albert_nano_en")
    preprocessor = ak.AlbertTextEmbedderPreprocessor(tokenizer, sequence_length=11)
    packed = preprocessor(TEXTS)
    assert np.sum(packed["padding_mask"], axis=1).tolist() == [6, 2, 11]
    classifiers = ak.AlbertTextClassifierPreprocessor(tokenizer, sequence_length=11)
    expected = classifiers(TEXTS)
    assert packed.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(packed[name], values)
    ak.AlbertBackbone.from_config_preset("albert_test").save_to_preset(str(tmp_path))
    preprocessor.save_to_preset(str(tmp_path))
    found = keras_hub.models.TextEmbedderPreprocessor.from_preset(str(tmp_path))
    assert type(found) is ak.AlbertTextEmbedderPreprocessor
    assert found.sequence_length == 11
