"""Data that a model cannot take, refused before Keras reads them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import (
    AlbertBackbone,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.models.data_checks import check_data, columns_of
from tests.helpers import make_config, make_inputs

INPUTS = make_inputs()
TEXTS = tf.data.Dataset.from_tensor_slices((["a", "b"], [0, 1]))


@pytest.fixture(scope="module")
def model():
    return AlbertTextClassifier(AlbertBackbone(**make_config().to_dict()), 3)


class Texts(keras.utils.PyDataset):
    """One batch of text."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return ["a", "b"], np.array([0, 1])


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict", "predict_on_batch"])
def test_text_needs_a_preprocessor(model, method):
    error = "Received: text for AlbertTextClassifier.*TextClassifierPreprocessor"
    for texts in (["a", "b"], (["a"], ["b"]), np.array(["a"]), np.array(["a"], object)):
        with pytest.raises(ValueError, match=error):
            getattr(model, method)(texts)
    for texts in (TEXTS.batch(2), Texts()) if method != "predict_on_batch" else ():
        with pytest.raises(ValueError, match=error):
            getattr(model, method)(texts)


def test_a_dataset_must_be_batched(model):
    rows = tf.data.Dataset.from_tensor_slices((INPUTS, np.arange(5) % 3))
    with pytest.raises(ValueError, match=r"must give batches.*dataset.batch\(32\)"):
        model.fit(rows)
    # Any callable may be a preprocessor.
    model.preprocessor = lambda texts: INPUTS
    try:
        with pytest.raises(
            ValueError, match="must give batches. Received: single rows"
        ):
            model.evaluate(TEXTS)
        with pytest.raises(ValueError, match="must give batches"):
            model.evaluate(rows)
    finally:
        model.preprocessor = None


@pytest.mark.parametrize(
    ("labels", "received"),
    [
        ([0, 1, 2, 3, 0], "from 0 to 2. Received: 3. See `num_classes`"),
        (np.array([0, 1, 2, -1, 0]), "Received: -1"),
        (["good", "bad", "good", "bad", "bad"], "Received: 'good'. Number the classes"),
        (np.eye(5, 3), r"y of shape \(5, 3\).*sigmoid.*CategoricalCrossentropy"),
    ],
)
def test_labels_must_be_class_ids(model, labels, received):
    with pytest.raises(ValueError, match=received):
        model.fit(INPUTS, labels)


def test_ignored_labels_are_taken(model):
    model = AlbertTextClassifier(model.backbone, 3)
    loss = keras.losses.SparseCategoricalCrossentropy(True, ignore_class=-1)
    model.compile(loss=loss)
    check_data(model, INPUTS, [0, -1, 2, -1, 1])
    with pytest.raises(ValueError, match="Received: -2"):
        check_data(model, INPUTS, [0, -1, 2, -2, 1])


def test_a_column_of_labels_is_taken(model):
    check_data(model, INPUTS, [[0], [1], [2], [0], [1]])


def test_names_of_classes_are_taken(model):
    names = ["bad", "fair", "good"]
    classifier = AlbertTextClassifier(model.backbone, 3, labels=names)
    for labels in (["good", "bad"], np.array(["good", "bad"])):
        assert columns_of(classifier, INPUTS, labels)[1] == [2, 0]
    assert columns_of(classifier, INPUTS, [2, 0])[1] == [2, 0]
    with pytest.raises(ValueError, match="bad, fair, good. Received: 'great'"):
        classifier.fit(INPUTS, ["good", "great"])
    classifier.compile(loss="mse")
    with pytest.raises(ValueError, match="must be numbers.*Received: 'good'"):
        classifier.evaluate(INPUTS, ["good"])


def test_tags_are_names_or_class_ids(model):
    tagger = AlbertTokenClassifier(model.backbone, 3, labels=["B", "I", "O"])
    text = [["Ann"], ["Bob", "left"]]
    assert columns_of(tagger, text, [["B"], ["B", "O"]])[1] == [[0], [0, 2]]
    ragged = np.array([[0], [0, 2]], dtype=object)
    check_data(tagger, INPUTS, columns_of(tagger, INPUTS, ragged)[1])
    with pytest.raises(ValueError, match="B, I, O. Received: '-'"):
        tagger.fit(INPUTS, [["B"], ["-", "O"]])
    tagger.preprocessor = lambda texts: INPUTS
    with pytest.raises(ValueError, match=r"must have a text. Received: x=\[3.5\]"):
        tagger.predict([3.5])
    with pytest.raises(ValueError, match="for each word, from 0 to 2. Received: 3"):
        tagger.fit(text, [[0], [3, 1]])
