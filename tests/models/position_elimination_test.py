"""Classifiers that drop positions: compiled, trained, saved; and other heads."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import (
    AlbertBackbone,
    AlbertEarlyExitClassifier,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertTextClassifier,
)
from tests.helpers import make_config, make_inputs, max_difference, randomize

INPUTS = make_inputs()


def make_classifier(**fields):
    keras.utils.set_random_seed(3)
    config = make_config(keep_positions=[0.7, 0.5, 0.2], **fields)
    backbone = AlbertBackbone(**config.to_dict())
    return randomize(AlbertTextClassifier(backbone, 3, dropout=0.0))


def test_compiled_and_saved_models_drop_the_same_positions(tmp_path):
    model = make_classifier()
    compiled = tf.function(model, jit_compile=True, autograph=False)
    assert max_difference(compiled(INPUTS), model(INPUTS)) < 1e-5
    model.save_to_preset(str(tmp_path))
    loaded = AlbertTextClassifier.from_preset(str(tmp_path))
    assert loaded.backbone.albert_config == model.backbone.albert_config
    assert max_difference(loaded(INPUTS), model(INPUTS)) == 0
    full = AlbertTextClassifier.from_preset(str(tmp_path), keep_positions=())
    assert max_difference(full(INPUTS), model(INPUTS)) > 1e-3


def test_training_compiled_and_rematerialized_has_the_same_gradients():
    def gradients(model):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(INPUTS, training=True) ** 3)
        kernels = [v for v in model.trainable_variables if "embeddings" not in v.path]
        return tape.gradient(loss, kernels)

    compiled = tf.function(gradients, jit_compile=True, autograph=False)
    expected = gradients(make_classifier())
    scale = max(np.abs(each).max() for each in expected)
    for received in (
        compiled(make_classifier()),
        gradients(make_classifier(rematerialization=True)),
    ):
        assert max_difference(received, expected) < 1e-5 * scale


def test_only_heads_that_read_the_pooled_output_take_them():
    backbone = AlbertBackbone.from_config_preset("albert_test", keep_positions=[0.4])
    assert AlbertMultipleChoice(backbone).output_shape == (None, None)
    heads = [AlbertPretrainer, lambda backbone: AlbertEarlyExitClassifier(backbone, 2)]
    for head in heads:
        with pytest.raises(ValueError, match="heads that read the pooled output"):
            head(backbone)
    kept = AlbertBackbone.from_config_preset("albert_test", keep_positions=[1.0])
    assert AlbertPretrainer(kept).backbone is kept
