"""Data that a model cannot take, and the batches of those that it can."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import (
    AlbertBackbone,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.models.batches import Rows, in_batches
from albert_keras.models.data_checks import check_data
from albert_keras.preprocessors import AlbertTokenClassifierPreprocessor
from albert_keras.tokenizers import WordPieceTokenizer
from tests.helpers import make_config, make_inputs

INPUTS = make_inputs()
TEXTS = tf.data.Dataset.from_tensor_slices((["a", "b"], [0, 1]))


@pytest.fixture(scope="module")
def model():
    return AlbertTextClassifier(AlbertBackbone(**make_config().to_dict()), 3)


class Batches(keras.utils.PyDataset):
    """Given batches."""

    def __init__(self, *batches):
        super().__init__()
        self.batches = batches

    num_batches = property(lambda self: len(self.batches))

    def __getitem__(self, index):
        return self.batches[index]


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict", "predict_on_batch"])
def test_text_needs_a_preprocessor(model, method):
    error = "Received: text for AlbertTextClassifier. Set `model.preprocessor`"
    for texts in (["a", "b"], (["a"], ["b"]), np.array(["a"]), np.array(["a"], object)):
        with pytest.raises(ValueError, match=error):
            getattr(model, method)(texts)
    batches = Batches((["a", "b"], np.array([0, 1])))
    for texts in (TEXTS.batch(2), batches) if method != "predict_on_batch" else ():
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
    finally:
        model.preprocessor = None


@pytest.mark.parametrize(
    ("labels", "received"),
    [
        ([0, 1, 2, 3, 0], "from 0 to 2. Received: 3. See `num_classes`"),
        (np.array([0, 1, 2, -1, 0]), "Received: -1"),
        (
            ["good", "bad", "good", "bad", "bad"],
            "Received: 'good', labels=.*Number the classes",
        ),
        (np.eye(5, 3), r"y of shape \(5, 3\).*sigmoid.*CategoricalCrossentropy"),
    ],
)
def test_labels_must_be_class_ids(model, labels, received):
    with pytest.raises(ValueError, match=received):
        model.fit(INPUTS, labels)


def test_ignored_labels_and_columns_are_taken(model):
    model = AlbertTextClassifier(model.backbone, 3)
    loss = keras.losses.SparseCategoricalCrossentropy(True, ignore_class=-1)
    model.compile(loss=loss)
    check_data(model, INPUTS, [0, -1, 2, -1, 1])
    check_data(model, INPUTS, [[0], [-1], [2], [0], [1]])
    with pytest.raises(ValueError, match="Received: -2"):
        check_data(model, INPUTS, [0, -1, 2, -2, 1])


def test_names_of_classes_are_taken(model):
    names = ["bad", "fair", "good"]
    classifier = AlbertTextClassifier(model.backbone, 3, labels=names)
    for labels in (["good", "bad"], np.array(["good", "bad"])):
        assert check_data(classifier, INPUTS, labels)[1] == [2, 0]
    assert check_data(classifier, INPUTS, [2, 0])[1] == [2, 0]
    with pytest.raises(ValueError, match="Received: 'great', labels=bad, fair, good"):
        classifier.fit(INPUTS, ["good", "great"])
    classifier.compile(loss="mse")
    with pytest.raises(ValueError, match="Received: 'good'.*mean_squared_error"):
        classifier.evaluate(INPUTS, ["good"])


def test_tags_are_names_or_class_ids(model):
    tagger = AlbertTokenClassifier(model.backbone, 3, labels=["B", "I", "O"])
    text = [["Ann"], ["Bob", "left"]]
    assert check_data(tagger, INPUTS, [["B"], ["B", "O"]])[1] == [[0], [0, 2]]
    ragged = np.array([[0], [0, 2]], dtype=object)
    check_data(tagger, INPUTS, check_data(tagger, INPUTS, ragged)[1])
    with pytest.raises(ValueError, match="Received: '-', labels=B, I, O"):
        tagger.fit(INPUTS, [["B"], ["-", "O"]])
    tagger.preprocessor = lambda texts: INPUTS
    with pytest.raises(ValueError, match="or word, from 0 to 2. Received: 3"):
        tagger.fit(text, [[0], [3, 1]])


# === Batches of rows in memory and of `PyDataset`s, and data that cannot be batched ===


WORDS = [["a"], ["b", "c", "d"], ["e", "f"]]


def pack(*parts):
    return keras.utils.pack_x_y_sample_weight(*parts)


def prepare(x, y=None, sample_weight=None):
    """Returns as features the characters of texts, and what came with them."""
    texts, others = x if isinstance(x, tuple) else (x, {})
    ids = np.zeros((len(texts), 40), np.int32)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = [*map(ord, text)]
    return pack({"ids": ids, "padding_mask": ids > 0, **others}, y, sample_weight)


def test_rows_stay_together_in_tuples_and_dicts_of_any_kind_of_array():
    x = (
        tf.constant(["p", "qq", "r"]),
        {"number": np.arange(3), "word": ["a", "b", "c"]},
    )
    rows = Rows((x, [1, 2, 3], [5.0, 6.0, 7.0]), prepare, trims=True)
    assert rows.lengths.tolist() == [1, 2, 1]
    features, labels, weights = rows.prepared(np.array([2, 0]))
    assert features["ids"].tolist() == [[ord("r")], [ord("p")]]
    assert features["number"] == [2, 0]
    assert features["word"] == ["c", "a"]
    assert (labels.tolist(), labels.dtype) == ([3, 1], "int32")
    assert (weights.tolist(), weights.dtype) == ([7.0, 5.0], "float32")


def test_batches_have_few_lengths_and_in_each_epoch_another_order():
    texts = ["a" * size for size in range(1, 24)]
    rows = Rows((texts, np.ones((23, 40)), None), prepare, trims=True)
    batches = rows.delivered(5, shuffle=True)
    assert len(batches) == 5
    orders = []
    for _ in range(2):
        epoch = [(x["padding_mask"].numpy(), y) for x, y in batches]
        # Labels of as many columns as tokens are none of tokens.
        assert [y.shape for _, y in epoch] == [(5, 40)] * 4 + [(3, 40)]
        widths = [mask.shape[1] for mask, _ in epoch]
        assert sorted(widths[:4])[:2] == [16, 16]
        assert {*widths} <= {16, 24}
        orders.append([size for mask, _ in epoch for size in mask.sum(axis=1).tolist()])
        assert sorted(orders[-1]) == [*range(1, 24)]
    assert orders[0] != orders[1]


def test_labels_of_tokens_are_cut_like_the_features():
    data = (["ab", "cde"], np.ones((2, 40)), np.ones((2, 40)))
    batch = Rows(data, prepare, True, by_token=True).prepared(np.arange(2))
    assert [leaf.shape for leaf in keras.tree.flatten(batch)] == [(2, 3)] * 4
    batch = Rows(data, prepare, False, by_token=True).prepared(np.arange(2))
    assert [leaf.shape for leaf in keras.tree.flatten(batch)] == [(2, 40)] * 4


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ((["a", "b"], [1], None), "equally many rows.*Received: 1 and 2 rows"),
        (([], None, None), "at least one. Received: 0 rows"),
        ((["a", None], None, None), "must have a text. Received: None in row 1"),
        ((([None], ["a"]), None, None), "must have a text. Received: None in row 0"),
        ((np.array([np.nan, "a"], object), None, None), "Received: nan in row 0"),
        (("a text", None, None), "lists or arrays.*Received: 0 rows"),
        ((iter([]), None, None), "can be read again.*list_iterator.*PyDataset"),
    ],
)
def test_unfit_rows_are_refused(data, error):
    is_stream = hasattr(data[0], "__next__")
    with pytest.raises(ValueError, match=error):
        in_batches(data[0], prepare) if is_stream else Rows(data, prepare, True)


def test_words_and_tags_of_a_py_dataset_are_filled_up():
    source = Batches((WORDS[:1], [[1]]), (WORDS[1:], [[2, 3, 4], [5, 6]]))
    tokenizer = WordPieceTokenizer(
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"]
    )
    preprocessor = AlbertTokenClassifierPreprocessor(tokenizer, sequence_length=7)
    batches = in_batches(source, preprocessor)
    assert len(batches) == 2
    _, labels, weights = [*batches][1]
    assert labels.numpy()[weights.numpy() > 0].tolist() == [2, 3, 4, 5, 6]


def test_a_py_dataset_may_have_no_end():
    class Endless(Batches):
        num_batches = None

    source = Endless(["a"], ["b"])
    batches = in_batches(source, prepare)
    ids = [int(batch[0]["ids"][0, 0]) for batch in batches.take(2)]
    assert ids == [ord("a"), ord("b")]
