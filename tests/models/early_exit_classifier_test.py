"""The classifier with an exit after every layer: outputs, loss, and training."""

import keras
import numpy as np
import pytest
from keras.optimizers import SGD

from albert_keras.models import (
    AlbertBackbone,
    AlbertEarlyExitClassifier,
    AlbertTextClassifier,
)
from tests.helpers import make_config, max_difference, randomize
from tests.models.small_models import INPUTS, make_model

LABELS = np.array([1, 0, 6, 3, 3])


def make_exits(num_classes=7, fields=(), **options):
    fields = {"num_layers": 4, **dict(fields)}
    options = {"num_classes": num_classes, "fields": fields, **options}
    return make_model(AlbertEarlyExitClassifier, **options)


@pytest.mark.parametrize(
    "fields",
    [{}, {"sharing": "none"}, {"num_groups": 2, "num_inner_repetitions": 3}],
    ids=["shared", "unshared", "groups"],
)
def test_an_exit_is_the_classifier_cut_after_its_layer(fields):
    model = randomize(make_exits(fields=fields))
    logits = np.array(model.exit_logits(INPUTS))
    assert logits.shape == (5, 4, 7)
    assert max_difference(logits[:, -1], model(INPUTS)) < 1e-5
    states = model.backbone.with_outputs(hidden_states=True)(INPUTS)["hidden_states"]
    repetitions = dict(fields).get("num_inner_repetitions", 1)
    pooled = model.backbone.pooler(states[2 * repetitions][:, 0])
    kernel, bias = (weight[1] for weight in model.exit_heads.get_weights())
    assert max_difference(logits[:, 1], np.array(pooled) @ kernel + bias) < 1e-5


def test_the_loss_is_weighted_by_depth_and_metrics_are_of_the_last_exit():
    model = randomize(make_exits(dropout=0.0))
    model.compile(run_eagerly=True)
    logits = np.array(model.exit_logits(INPUTS))
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    # (batch, num_layers)
    losses = -np.take_along_axis(log_probs, LABELS[:, None, None], -1)[:, :, 0]
    expected = (losses.mean(0) * [1, 2, 3, 4]).sum() / 10
    accuracy = (logits[:, -1].argmax(-1) == LABELS).mean()
    measured = model.evaluate(INPUTS, LABELS, verbose=0)
    assert measured == pytest.approx([losses[:, -1].mean(), accuracy], rel=1e-5)
    logs = model.train_on_batch(INPUTS, LABELS, return_dict=True)
    assert logs["loss"] == pytest.approx(expected, rel=1e-5)
    assert logs["accuracy"] == pytest.approx(accuracy)


@pytest.mark.parametrize("num_classes", [1, 7])
def test_micro_batches_take_the_same_step(num_classes):
    weights = []
    for micro_batches in (1, 2):
        keras.utils.set_random_seed(3)
        model = randomize(make_exits(num_classes, dropout=0.0))
        start = model.exit_heads.get_weights()
        model.compile(SGD(0.1), micro_batches=micro_batches, run_eagerly=True)
        model.train_on_batch(INPUTS, LABELS, sample_weight=np.arange(5.0))
        weights.append(model.get_weights())
    assert max_difference(*weights) < 2e-6
    # All exits have learned.
    changed = np.abs(start[0] - model.exit_heads.get_weights()[0]).max(axis=(1, 2))
    assert (changed > 1e-3).all()


def test_exits_are_trained_on_a_finished_classifier_which_stays():
    backbone = AlbertBackbone(**make_config(num_layers=3).to_dict())
    classifier = randomize(
        AlbertTextClassifier(backbone, 7, labels=[*"abcdefg"], dropout=0.0)
    )
    expected = np.array(classifier(INPUTS))
    model = AlbertEarlyExitClassifier.from_classifier(classifier)
    assert model.labels == classifier.labels
    kernel, bias = classifier.output_dense.get_weights()
    for exit in range(2):
        assert max_difference(model.exit_heads.kernel[exit], kernel) == 0.0
        assert max_difference(model.exit_heads.bias[exit], bias) == 0.0
    model.compile(SGD(0.1), run_eagerly=True)
    model.train_on_batch(INPUTS, LABELS)
    assert max_difference(model(INPUTS), expected) == 0.0
    assert max_difference(model.exit_heads.kernel[0], kernel) > 1e-3

    softmax = AlbertTextClassifier(backbone, 7, activation="softmax")
    with pytest.raises(ValueError, match="gives logits. Received: activation=softmax"):
        model.take_over_head(softmax)


def test_full_depth_is_a_classifier():
    labels = [*"abcdefg"]
    model = randomize(make_exits(dropout=0.2, labels=labels))
    classifier = model.to_classifier()
    assert type(classifier) is AlbertTextClassifier
    assert classifier.backbone is model.backbone
    assert ([*classifier.labels], classifier.dropout) == (labels, 0.2)
    assert max_difference(classifier(INPUTS), model(INPUTS)) == 0.0


def test_one_layer_is_refused():
    with pytest.raises(ValueError, match="need 2 layers. Received: num_layers=1"):
        make_exits(fields={"num_layers": 1})
