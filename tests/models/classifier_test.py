"""The text classifier: raw strings, regression, presets with a tokenizer."""

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
from tests.helpers import make_config, make_inputs, max_difference, run_model_test

INPUTS = make_inputs()
GOOD = ["a good film", "good acting, good fun", "such a good plot", "fun and good"]
BAD = ["a dull film", "dull acting, no fun", "such a dull plot", "long and dull"]
TEXTS = GOOD + BAD
LABELS = [1] * len(GOOD) + [0] * len(BAD)


def make_classifier(dtype=None, num_classes=11, **arguments):
    backbone = AlbertBackbone(**make_config(num_layers=1).to_dict(), dtype=dtype)
    return AlbertTextClassifier(backbone, num_classes=num_classes, **arguments)


@pytest.fixture(scope="module")
def preprocessor():
    tokenizer = AlbertTokenizer(train_sentence_piece(TEXTS, 37))
    return keras_hub.models.TextClassifierPreprocessor(tokenizer, sequence_length=15)


@pytest.mark.slow
@pytest.mark.parametrize("num_classes", [1, 11])
def test_one_result_however_used(num_classes, tmp_path):
    run_model_test(
        lambda **dtype: make_classifier(num_classes=num_classes, **dtype),
        INPUTS,
        (5, num_classes),
        tmp_path,
    )


def test_logits_are_float32_under_mixed_precision():
    assert make_classifier(dtype="mixed_float16")(INPUTS).dtype == "float32"


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


def test_no_class_is_refused():
    with pytest.raises(ValueError, match="at least 1.*num_classes=0"):
        make_classifier(num_classes=0)


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


def test_other_activations_are_refused():
    with pytest.raises(ValueError, match="linear, softmax, sigmoid. .*=.?tanh"):
        make_classifier(activation="tanh")


def test_softmax_of_one_class_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes.*num_classes=1"):
        make_classifier(num_classes=1, activation="softmax")


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="no argument droput"):
        make_classifier(droput=0.5)


@pytest.mark.parametrize(
    ("num_classes", "loss", "metrics"),
    [
        (1, keras.losses.MeanSquaredError, []),
        (11, keras.losses.SparseCategoricalCrossentropy, ["accuracy"]),
    ],
)
def test_default_loss_and_metrics(num_classes, loss, metrics):
    classifier = make_classifier(num_classes=num_classes)
    assert isinstance(classifier.loss, loss)
    logs = classifier.evaluate(INPUTS, np.arange(5), return_dict=True, verbose=0)
    assert sorted(logs) == sorted([*metrics, "loss"])


@pytest.mark.slow
def test_regression_learns_its_targets():
    keras.utils.set_random_seed(3)
    classifier = make_classifier(num_classes=1, dropout=0.0)
    classifier.compile(keras.optimizers.Adam(0.01), jit_compile=False)
    targets = np.array([0.5, -1.0, 2.0, 0.0, 3.5], "float32")
    batches = tf.data.Dataset.from_tensors((INPUTS, targets))
    classifier.fit(batches.repeat(60), verbose=0)
    received = np.array(classifier(INPUTS))[:, 0]
    error = ((received - targets) ** 2).mean()
    assert error < 0.1 * (targets**2).mean()
    assert classifier.evaluate(batches, verbose=0) == pytest.approx(error, abs=1e-5)


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


@pytest.mark.slow
def test_pairs_of_strings_have_two_segments(preprocessor):
    features, _ = preprocessor((["a good film"], ["a dull plot"]), [1])
    segments = np.array(features["segment_ids"])[0]
    real = np.array(features["padding_mask"])[0].astype(bool)
    assert set(segments[real]) == {0, 1}
    classifier = make_classifier(preprocessor=preprocessor)
    pairs = (["a good film", "dull"], ["a dull plot", "good"])
    assert classifier.predict(pairs, verbose=0).shape == (2, 11)
