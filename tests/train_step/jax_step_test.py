"""Steps of JAX models that users override, in a process of its own."""

import keras
import numpy as np
import pytest

from albert_keras.train_step import ExactTrainStep
from tests.forked_processes import forked_processes


class Logged(ExactTrainStep, keras.Model):
    """Overrides the step as Keras documents it for JAX."""

    def train_step(self, state, data):
        logs, state = super().train_step(state, data)
        return {**logs, "twice": 2 * logs["loss"]}, state

    def test_step(self, state, data):
        logs, state = super().test_step(state, data)
        return {**logs, "thrice": 3 * logs["loss"]}, state


def main():
    keras.utils.set_random_seed(3)
    inputs = keras.Input((2,))
    model = Logged(inputs, keras.layers.Dense(3)(inputs))
    model.compile("sgd", "mse", metrics=["mae"], log_gradient_norm=True)
    data = {"x": np.ones((10, 2)), "y": np.ones((10, 3))}
    logs = model.fit(**data, batch_size=5, verbose=0).history
    assert logs.keys() == {"loss", "mae", "gradient_norm", "twice"}
    assert logs["twice"] == pytest.approx([2 * logs["loss"][0]])
    logs = model.evaluate(**data, verbose=0, return_dict=True)
    assert logs.keys() == {"loss", "mae", "thrice"}
    assert logs["thrice"] == pytest.approx(3 * logs["loss"])


@pytest.mark.slow
def test_overridden_steps_get_the_loss_and_the_metrics():
    pytest.importorskip("jax")
    with forked_processes() as start:
        process = start(main, KERAS_BACKEND="jax")
        _, errors = process.communicate()
    assert process.returncode == 0, errors
