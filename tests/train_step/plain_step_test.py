"""Models on a backend without its own step, which trains on whole batches only."""

import keras
import numpy as np
import pytest

from albert_keras.models import AlbertBackbone, AlbertPretrainer
from albert_keras.train_step.plain_step import PlainStep


def test_micro_batches_are_refused(monkeypatch):
    monkeypatch.setattr(AlbertPretrainer, "can_split", PlainStep.can_split)
    model = AlbertPretrainer(AlbertBackbone.from_config_preset("albert_test"))
    model.compile("sgd")
    with pytest.raises(ValueError, match="Received: micro_batches=2. Leave it out"):
        model.compile("sgd", micro_batches=2)


class PlainModel(PlainStep, keras.Model):
    """Trains by the step of Keras."""


def test_the_mean_of_the_loss_is_that_in_the_logs():
    inputs = keras.Input((2,))
    model = PlainModel(inputs, keras.layers.Dense(3)(inputs))
    model.compile("sgd", "mse", metrics=["mae"])
    loss, _ = model.train_on_batch(np.ones((5, 2)), np.ones((5, 3)))
    assert loss == pytest.approx(float(model.loss_mean().result()), rel=1e-6)
