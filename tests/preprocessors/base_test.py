"""Preprocessors found by name, by keras-hub's base classes, and in every pipeline."""

import keras_hub
import numpy as np
import pytest
import tensorflow as tf

import albert_keras as ak
from albert_keras.preprocessors import base
from albert_keras.presets.hub import local_files
from tests.helpers import max_difference

SHIPPED = "albert_nano_en"


class CharacterCounter(base.PythonPreprocessor):
    """Counts the characters of each text, up to a length."""

    def prepare(self, x, y, sample_weight):
        lengths = [min(len(text), self.sequence_length) for text in x["text"]]
        features = {"lengths": np.array(lengths, np.int32)}
        return features, y and np.array(y, np.float32), None


@pytest.fixture
def counter(tokenizer):
    return CharacterCounter(tokenizer, sequence_length=3)


def test_the_same_from_lists_arrays_tensors_and_datasets(counter):
    texts, labels = ["a", "好的", "four"], [0.5, 1.5, 2.5]
    expected = {"lengths": np.array([1, 2, 3])}
    for convert in (list, np.array, tf.constant, lambda t: np.array(t, object)):
        features, received = counter({"text": convert(texts)}, convert(labels))
        assert max_difference(features, expected) == 0
        assert received.tolist() == labels
        assert max_difference(counter({"text": convert(texts)}), expected) == 0
    dataset = tf.data.Dataset.from_tensor_slices(({"text": texts}, labels))
    batches = dataset.batch(2).map(counter)
    assert batches.element_spec[0]["lengths"].shape.as_list() == [None]
    assert [len(batch["lengths"]) for batch, _ in batches] == [2, 1]
    singles = [(x["lengths"].numpy(), y.numpy()) for x, y in dataset.map(counter)]
    assert singles == list(zip([1, 2, 3], labels, strict=True))
    assert counter({"text": "four"}, 2.5)[0]["lengths"] == 3


def test_open_shapes_in_a_dataset(tokenizer):
    choices = tf.ragged.constant([["a", "b", "c"], ["d", "e", "f"]])
    rows = tf.data.Dataset.from_tensor_slices((["x", "y"], choices)).batch(2)
    preprocessor = ak.AlbertMultipleChoicePreprocessor(tokenizer, 7)
    batches = rows.map(lambda *x: preprocessor(x=x))
    assert batches.element_spec["token_ids"].shape.as_list() == [None, None, 7]
    assert next(iter(batches))["token_ids"].shape == (2, 3, 7)


def test_tokenizers_that_pad_are_taken_as_by_keras_hub(tokenizer):
    config = tokenizer.get_config() | {"sequence_length": 5}
    padding = type(tokenizer).from_config(config)
    padding.set_proto(tokenizer.encoder.proto)
    texts = ["the cat sat on the mat by the door", "no"]
    received = ak.AlbertTextClassifierPreprocessor(padding, 11)(texts)
    expected = keras_hub.models.TextClassifierPreprocessor(padding, 11)(texts)
    assert received["token_ids"].shape == (2, 11)
    for name, values in expected.items():
        assert np.array_equal(received[name], values), name


HUB = (
    keras_hub.models.TextClassifierPreprocessor,
    keras_hub.models.MaskedLMPreprocessor,
    keras_hub.models.TextEmbedderPreprocessor,
    keras_hub.tokenizers.Tokenizer,
)


@pytest.mark.parametrize("kind", HUB)
def test_keras_hub_finds_our_classes(kind):
    found = kind.from_preset(str(local_files(SHIPPED)))
    assert type(found).__module__.startswith("albert_keras.")
    tokenizer = getattr(found, "tokenizer", found)
    assert tokenizer("the end") == ak.load_tokenizer(SHIPPED)("the end")


def test_from_preset_by_name_and_with_arguments(tmp_path):
    preprocessor = ak.AlbertQuestionAnswererPreprocessor.from_preset(
        SHIPPED, sequence_length=29, doc_stride=5
    )
    preprocessor.save_to_preset(str(tmp_path))
    ak.AlbertBackbone.from_config_preset("albert_test").save_to_preset(str(tmp_path))
    restored = base.AlbertPreprocessor.from_preset(tmp_path)
    assert type(restored) is ak.AlbertQuestionAnswererPreprocessor
    assert restored.get_config() == preprocessor.get_config()
    assert restored.tokenizer("the end") == preprocessor.tokenizer("the end")
    # Of the backbone's positions.
    other = ak.AlbertTokenClassifierPreprocessor.from_preset(tmp_path)
    assert other.sequence_length == ak.PRESETS["albert_test"].max_sequence_length
    joint = ak.AlbertJointQuestionAnswererPreprocessor(preprocessor.tokenizer)
    joint.save_to_preset(str(tmp_path))
    plain = ak.AlbertQuestionAnswererPreprocessor.from_preset(tmp_path)
    assert type(plain) is ak.AlbertQuestionAnswererPreprocessor


def test_rows_become_columns():
    rows = [{"text": "a", "start": [1, 2]}, {"start": [3], "text": "b"}]
    assert base.transposed(rows) == {"text": ["a", "b"], "start": [[1, 2], [3]]}
    assert base.transposed([("a", ["b", "c"])]) == (["a"], [["b", "c"]])
    unchanged = (["a"], ["b"]), ["a", "b"], [["a", "b"]], {"text": ["a"]}, [], None
    for columns in unchanged:
        assert base.transposed(columns) is columns
    for other in ({"text": "c"}, ("c",), "c"):
        with pytest.raises(ValueError, match="the same parts.*'c'.* in row 2, and"):
            base.transposed([*rows, other])
