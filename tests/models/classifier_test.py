"""The text classifier: strings, presets, and losses that fit its outputs."""

import functools

import keras
import keras_hub
import numpy as np
import pytest
from keras import losses

from albert_keras.models import AlbertTextClassifier
from albert_keras.models.classes import accuracy_of, reads_logits, takes_class_ids
from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
from albert_keras.train_step.losses import SmoothedCrossentropy
from tests.helpers import max_difference
from tests.models.small_models import INPUTS, make_model

make_classifier = functools.partial(make_model, AlbertTextClassifier, num_classes=11)
GOOD = ["a good film", "good acting, good fun", "such a good plot", "fun and good"]
BAD = ["a dull film", "dull acting, no fun", "such a dull plot", "long and dull"]
TEXTS = GOOD + BAD
LABELS = [1] * len(GOOD) + [0] * len(BAD)


@pytest.fixture(scope="module")
def preprocessor():
    tokenizer = AlbertTokenizer(train_sentence_piece(TEXTS, 37))
    return keras_hub.models.TextClassifierPreprocessor(tokenizer, sequence_length=15)


def test_dropout_is_before_the_dense_layer():
    keras.utils.set_random_seed(3)
    classifier = make_classifier(dropout=0.6)
    units = np.ones((50, 40), "float32")
    dropped = np.array(classifier.output_dropout(units, training=True)) == 0.0
    assert dropped.mean() == pytest.approx(0.6, abs=0.035)
    change = max_difference(classifier(INPUTS, training=True), classifier(INPUTS))
    assert change > 1e-4
    still = make_classifier(dropout=0.0)
    assert max_difference(still(INPUTS, training=True), still(INPUTS)) < 1e-7


@pytest.mark.parametrize(
    ("activation", "function", "loss"),
    [
        ("softmax", keras.ops.softmax, keras.losses.SparseCategoricalCrossentropy),
        ("sigmoid", keras.ops.sigmoid, keras.losses.BinaryCrossentropy),
    ],
)
def test_an_activation_gives_probabilities(activation, function, loss):
    keras.utils.set_random_seed(3)
    expected = function(make_classifier(dropout=0.0)(INPUTS))
    keras.utils.set_random_seed(3)
    classifier = make_classifier(dropout=0.0, activation=activation)
    assert max_difference(classifier(INPUTS), expected) < 1e-6
    assert isinstance(classifier.loss, loss)
    several = np.arange(5 * 11).reshape(5, 11) % 3 == 0
    targets = several if activation == "sigmoid" else np.arange(5)
    logs = classifier.evaluate(INPUTS, targets, return_dict=True, verbose=0)
    probabilities = np.array(expected)
    shares = {
        "sigmoid": (probabilities > 0.5) == several,
        "softmax": probabilities.argmax(axis=-1) == np.arange(5),
    }
    assert logs["accuracy"] == pytest.approx(shares[activation].mean())
    again = AlbertTextClassifier.from_config(classifier.get_config())
    assert again.activation is classifier.activation


@pytest.mark.parametrize(
    ("activation", "from_logits"), [(None, False), ("softmax", True)]
)
def test_a_loss_that_reads_other_outputs_is_warned_of(activation, from_logits):
    classifier = make_classifier(activation=activation)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits)
    right = f"from_logits={not from_logits}"
    with pytest.warns(UserWarning, match=f"sparse_categorical_crossentropy.*{right}"):
        classifier.compile("sgd", loss)


def test_weights_of_examples_change_the_loss_and_not_the_accuracy():
    classifier = make_classifier()
    # One label is wrong.
    labels = classifier.predict(INPUTS, verbose=0).argmax(axis=-1)
    labels[1] = (labels[1] + 1) % 11
    weights = np.array([1.0, 9.0, 0.0, 2.0, 3.0])
    plain, weighted = (
        classifier.evaluate(INPUTS, labels, sample_weight=given, verbose=0)
        for given in (None, weights)
    )
    assert plain[1] == weighted[1] == pytest.approx(4 / 5)
    assert plain[0] != weighted[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_classes": 1, "activation": "softmax"}, "at least 2 .*num_classes=1"),
        ({"activation": "tanh"}, "linear, softmax, sigmoid. .*=.?tanh"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_classifier(**options)


@pytest.mark.slow
def test_fit_and_predict_on_strings_and_a_preset_with_its_tokenizer(
    preprocessor, tmp_path
):
    keras.utils.set_random_seed(4)
    classifier = make_classifier(num_classes=2, preprocessor=preprocessor)
    classifier.compile(keras.optimizers.Adam(0.003), jit_compile=False)
    # Repeated here, since epochs take longer.
    classifier.fit(TEXTS * 40, LABELS * 40, batch_size=3, verbose=0)
    logits = classifier.predict(TEXTS, verbose=0)
    assert logits.argmax(-1).tolist() == LABELS

    classifier.save_to_preset(str(tmp_path))
    restored = AlbertTextClassifier.from_preset(str(tmp_path))
    assert max_difference(restored.predict(TEXTS, verbose=0), logits) == 0.0
    assert isinstance(restored.preprocessor.tokenizer, AlbertTokenizer)
    # The base class finds ours, as it does for keras-hub's own models.
    general = keras_hub.models.TextClassifier.from_preset(str(tmp_path))
    assert type(general) is AlbertTextClassifier
    # Another number of classes: the backbone is kept, and the head is new.
    other = AlbertTextClassifier.from_preset(str(tmp_path), num_classes=5)
    assert other.predict(TEXTS, verbose=0).shape == (8, 5)
    weights = other.backbone.get_weights(), classifier.backbone.get_weights()
    assert max_difference(*weights) == 0.0


# === Default accuracy of each cross-entropy, by hand ===


LOGITS = np.array([[2.0, -1.0, 0.3], [-3.0, 0.2, 0.1]])
PROBABILITIES = 1 / (1 + np.exp(-LOGITS))
CLASS_IDS = np.array([0, 2])
SEVERAL = np.array([[1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    ("loss", "targets", "outputs", "expected"),
    [
        (losses.SparseCategoricalCrossentropy(), CLASS_IDS, LOGITS, 1 / 2),
        ("sparse_categorical_crossentropy", CLASS_IDS, LOGITS, 1 / 2),
        (SmoothedCrossentropy(0.1), CLASS_IDS, LOGITS, 1 / 2),
        ("categorical_crossentropy", SEVERAL, LOGITS, 1.0),
        (losses.BinaryCrossentropy(), SEVERAL, PROBABILITIES, 4 / 6),
        (losses.BinaryCrossentropy(from_logits=True), SEVERAL, LOGITS, 4 / 6),
    ],
)
def test_the_accuracy_fits_the_loss(loss, targets, outputs, expected):
    (accuracy,) = accuracy_of(loss)
    assert accuracy.name == "accuracy"
    again = keras.metrics.deserialize(keras.metrics.serialize(accuracy))
    for each in (accuracy, again):
        each.update_state(targets, outputs)
        assert float(each.result()) == pytest.approx(expected)
    assert takes_class_ids(loss) == (targets is CLASS_IDS)


def own_loss(y_true, y_pred):
    return keras.ops.mean(y_true - y_pred, axis=-1)


@pytest.mark.parametrize("loss", ["mse", losses.Huber(), own_loss, None])
def test_other_losses_have_no_accuracy(loss):
    assert accuracy_of(loss) == []
    assert reads_logits(loss) is None
    assert not takes_class_ids(loss)
