"""`fit`, `evaluate` and `predict` on text in memory, and in data sets."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from albert_keras.models import (
    AlbertBackbone,
    AlbertMultipleChoice,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.preprocessors.text_classification import (
    AlbertTextClassifierPreprocessor,
)
from albert_keras.tokenizers import WordPieceTokenizer
from tests.helpers import make_config, max_difference, randomize
from tests.models.data_checks_test import Batches

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(chr, range(97, 123))]
# Row n has n as its target.
TEXTS = [" ".join(TOKENS[5 : 6 + row]) for row in range(13)]
TARGETS = [*range(13)]


class Recorder(keras.metrics.Metric):
    """Keeps the targets and the weights of the rows of up to two epochs, in order."""

    def __init__(self):
        super().__init__(name="recorder")
        self.count = self.add_variable((), "zeros", "int32")
        # (2, num_rows)
        self.rows = self.add_variable((2, 26), "zeros", "float32")

    def update_state(self, y_true, y_pred, sample_weight):
        targets = ops.cast(ops.reshape(y_true, (-1,)), "float32")
        weights = ops.reshape(sample_weight, (-1,))
        rows = ops.stack([targets, ops.cast(weights, "float32")])
        places = self.count + ops.arange(ops.shape(targets)[0])
        self.rows.assign_add(rows @ ops.one_hot(places, 26))
        self.count.assign_add(ops.shape(targets)[0])

    def result(self):
        return ops.cast(self.count, "float32")

    def reset_state(self):
        """Keeps the rows from epoch to epoch."""

    def pop(self):
        """Returns the targets and the weights, as lists, and forgets them."""
        targets, weights = ops.convert_to_numpy(self.rows)[
            :, : int(self.count)
        ].tolist()
        self.count.assign(0)
        self.rows.assign(np.zeros((2, 26)))
        return targets, weights


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def model(recorder):
    """Returns a regression model of text that stays as it is in training."""
    backbone = AlbertBackbone(**make_config(num_layers=1).to_dict())
    preprocessor = AlbertTextClassifierPreprocessor(
        WordPieceTokenizer(TOKENS), sequence_length=17
    )
    model = AlbertTextClassifier(backbone, 1, preprocessor, dropout=0.0)
    model.compile(keras.optimizers.SGD(0.0), weighted_metrics=[recorder])
    return model


@pytest.mark.slow
def test_rows_in_memory_are_shuffled_whole_in_each_epoch(model, recorder):
    weights = [row + 0.5 for row in TARGETS]
    orders = []
    for _ in range(2):
        keras.utils.set_random_seed(1)
        model.fit(
            TEXTS, TARGETS, batch_size=5, epochs=2, sample_weight=weights, verbose=0
        )
        targets, weights_in_order = recorder.pop()
        assert weights_in_order == [target + 0.5 for target in targets]
        orders.append((targets[:13], targets[13:]))
    assert orders[0] == orders[1]
    first, second = orders[0]
    assert first != second
    assert sorted(first) == sorted(second) == TARGETS
    # Not only among neighbours.
    assert max(first[:5]) > 8 > 3 > min(first[:5])


def test_rows_stay_in_order_on_request_and_the_last_are_held_out(model, recorder):
    ones = np.ones(13)
    model.fit(TEXTS, TARGETS, sample_weight=ones, shuffle=False, verbose=0)
    assert recorder.pop()[0] == TARGETS
    model.compile(keras.optimizers.SGD(0.0))
    history = model.fit(TEXTS, TARGETS, validation_split=0.25, verbose=0).history
    expected = model.evaluate(TEXTS[9:], TARGETS[9:], verbose=0)
    assert history["val_loss"] == pytest.approx([expected], rel=1e-6)


@pytest.mark.slow
def test_all_kinds_of_data_give_the_same(model):
    model.compile(keras.optimizers.SGD(0.0))
    expected = model.evaluate(TEXTS, TARGETS, verbose=0)
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, TARGETS)).batch(5)
    batches = Batches(*dataset.as_numpy_iterator())
    for data in (dataset, batches):
        assert model.evaluate(data, verbose=0) == pytest.approx(expected, rel=1e-6)
    logits = model.predict(np.array(TEXTS), verbose=0)
    assert model.predict(batches, verbose=0) == pytest.approx(logits, abs=1e-6)
    history = model.fit(
        batches, validation_data=(TEXTS, TARGETS), epochs=2, verbose=0
    ).history
    assert history["loss"] == pytest.approx([expected] * 2, rel=1e-6)
    assert history["val_loss"] == pytest.approx([expected] * 2, rel=1e-6)


@pytest.mark.parametrize("steps", [None, 3])
def test_predicted_texts_are_padded_to_the_longest_of_their_batch(
    model, monkeypatch, steps
):
    expected = model.predict(model.preprocessor(TEXTS[::-1]), verbose=0)
    shapes, predict = [], keras.Model.predict

    def seen(self, x, **kwargs):
        shapes.extend(tuple(features["token_ids"].shape) for (features,) in x)
        return predict(self, x, **kwargs)

    monkeypatch.setattr(keras.Model, "predict", seen)
    options = {"steps": steps} if steps else {}
    logits = model.predict(TEXTS[::-1], batch_size=5, verbose=0, **options)
    # As they are where a caller may count batches, and otherwise by their length.
    in_order = [(5, 15), (5, 10), (3, 5)]
    assert shapes == (in_order if steps else [(5, 7), (5, 12), (3, 15)])
    assert logits == pytest.approx(expected, abs=1e-6)


# Rows of different lengths, and what `y` of them is.
PAIRS = ([TEXTS[7], TEXTS[2], TEXTS[4]], [TEXTS[1], TEXTS[9], TEXTS[0]])
OF_EACH_HEAD = {
    "classes": (AlbertTextClassifier, {"num_classes": 5}, PAIRS, [4, 0, 2]),
    "tags": (
        AlbertTokenClassifier,
        {"num_classes": 4},
        [["a", "b", "cd"], ["e"], ["f", "g"]],
        [[1, 0, 3], [2], [0, 1]],
    ),
    "answers": (
        AlbertQuestionAnswerer,
        {},
        {"question": PAIRS[1], "context": PAIRS[0]},
        {"text": ["c d", "b", "e"], "answer_start": [4, 2, 8]},
    ),
    "choices": (
        AlbertMultipleChoice,
        {},
        (PAIRS[0], [["a b c", "d"], ["e", "f"], ["g", "h i j k"]]),
        [1, 0, 1],
    ),
}


@pytest.mark.parametrize("head", OF_EACH_HEAD)
def test_rows_give_the_same_as_their_features(head):
    kind, options, x, y = OF_EACH_HEAD[head]
    config = make_config(num_layers=2, max_sequence_length=80)
    backbone = AlbertBackbone(**config.to_dict())
    preprocessor = kind.preprocessor_cls(WordPieceTokenizer(TOKENS), sequence_length=72)
    model = randomize(kind(backbone, preprocessor=preprocessor, **options))
    model.compile(run_eagerly=True)
    features, *labels = preprocessor(x=x, y=y)
    expected = keras.Model.predict(model, features, verbose=0)
    for batch_size in (2, 3):
        outputs = model.predict(x, batch_size=batch_size, verbose=0)
        assert max_difference(outputs, expected) < 1e-5
    y_of_features, *weights = labels
    weights = {"sample_weight": weights[0]} if weights else {}
    expected = model.evaluate(features, y_of_features, **weights, verbose=0)
    assert model.evaluate(x, y, verbose=0) == pytest.approx(expected, rel=1e-5)
    history = model.fit(x, y, batch_size=2, validation_split=0.3, verbose=0).history
    assert np.isfinite(history["val_loss"]).all()


@pytest.mark.parametrize("rows", [list, np.array, tf.constant])
def test_a_batch_of_text_is_trained_and_evaluated(model, rows):
    model.compile(keras.optimizers.SGD(0.0), weighted_metrics=[])
    x, y = rows(TEXTS[:5]), rows(TARGETS[:5])
    expected = model.evaluate(TEXTS[:5], TARGETS[:5], return_dict=True, verbose=0)
    for method in (model.train_on_batch, model.test_on_batch):
        model.reset_metrics()
        assert method(x, y, return_dict=True) == pytest.approx(expected, rel=1e-6)


def test_a_batch_takes_weights_and_names_of_classes(model):
    classifier = AlbertTextClassifier(
        model.backbone, 2, model.preprocessor, dropout=0.0, labels=["bad", "good"]
    )
    texts, weights = TEXTS[:3], np.array([1.0, 0.0, 3.0])
    losses = [
        classifier.test_on_batch(texts, y, weights, return_dict=True)["loss"]
        for y in (["good", "bad", "bad"], [1, 1, 0])
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    classifier.compile(keras.optimizers.SGD(0.1))
    before = classifier.output_dense.get_weights()[0]
    classifier.train_on_batch(texts, ["good", "bad", "bad"])
    assert max_difference(before, classifier.output_dense.kernel) > 0.0


def test_features_are_not_preprocessed_again(model):
    model.compile(keras.optimizers.SGD(0.0), weighted_metrics=[])
    features = model.preprocessor(TEXTS)
    # Padded to 17 tokens, and to the 15 of the longest.
    expected = pytest.approx(model.predict(TEXTS, verbose=0), abs=1e-6)
    assert model.predict(features, verbose=0) == expected
    batches = tf.data.Dataset.from_tensor_slices((features, TARGETS)).batch(4)
    loss = model.evaluate(TEXTS, np.array(TARGETS), batch_size=4, verbose=0)
    assert model.evaluate(batches, verbose=0) == pytest.approx(loss)
    assert model.train_on_batch(features, TARGETS) == pytest.approx(loss)
    # Text, in a list too, may be held out beside features.
    held_out = [TEXTS, TARGETS]
    history = model.fit(batches, validation_data=held_out, verbose=0).history
    assert history["val_loss"] == pytest.approx([loss], rel=1e-6)
    model.preprocessor = None
    with pytest.raises(ValueError, match="Received: text"):
        model.fit(features, TARGETS, validation_data=held_out)


def test_one_text_is_refused(model):
    for call in (lambda: model.fit("a", [1]), lambda: model.predict("a")):
        with pytest.raises(ValueError, match=r"rows, .* Received: x='a'\. For one"):
            call()
