"""Behaviour of Keras that the package relies on and Keras does not document."""

import keras
import numpy as np
import pytest

from albert_keras.keras_internals import (
    flatten_layers,
    forget_lora,
    merge_lora,
    stateless_loss,
    sync_variables,
    variable_index,
)
from albert_keras.models import AlbertBackbone


class Recorder(keras.optimizers.Optimizer):
    """Keeps the index of each variable that is updated."""

    indices = ()

    def update_step(self, gradient, variable, learning_rate):
        self.indices = (*self.indices, variable_index(self, variable))


def test_variables_of_an_update_are_found_in_the_list_of_the_optimizer():
    variables = [keras.Variable(np.zeros(size), name="same") for size in (2, 3, 5)]
    optimizer = Recorder(1.0)
    optimizer.build(variables)
    optimizer.apply([np.ones(5), np.ones(2)], [variables[2], variables[0]])
    assert optimizer.indices == (2, 0)


def test_layers_are_found_at_any_depth():
    inner = keras.Sequential([keras.layers.Dense(2), keras.layers.Dense(3)])
    outer = keras.Sequential([inner, keras.layers.Dense(5)])
    found = {id(layer) for layer in flatten_layers(outer)}
    expected = [outer, inner, *inner.layers, outer.layers[-1]]
    assert found == {id(layer) for layer in expected}


def make_model():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.set_weights([np.array([[3.0]]), np.array([1.0])])
    model.compile(keras.optimizers.SGD(0.5), "mean_squared_error")
    return model


class SyncedWeights(keras.callbacks.Callback):
    """Reads the weights after each step."""

    def __init__(self):
        super().__init__()
        self.kernels = []

    def on_train_batch_end(self, batch, logs=None):
        sync_variables(self.model)
        self.kernels.append(float(self.model.get_weights()[0][0, 0]))


def test_callbacks_see_the_weights_of_the_last_step():
    callback = SyncedWeights()
    model = make_model()
    # Computed by hand: outputs are 3 x + 1, so the gradient is (8, 8) at first.
    x, y = np.ones((2, 1)), np.zeros((2, 1))
    model.fit(x, y, batch_size=1, shuffle=False, verbose=0, callbacks=[callback])
    assert callback.kernels == [-1.0, 3.0]


@pytest.mark.skipif(keras.config.backend() != "jax", reason="other_backends_test does")
def test_a_stateless_loss_is_that_of_the_given_variables():
    model = make_model()
    model.optimizer.build(model.trainable_variables)
    batch = (np.ones((2, 1)), np.full((2, 1), 5.0), None)
    variables = ([np.array([[7.0]]), np.array([2.0])], [], [0.0, 0.0])
    optimizer_variables = [v.value for v in model.optimizer.variables]
    scaled, (loss, outputs, _, metrics) = stateless_loss(
        model,
        *variables,
        *batch,
        training=True,
        optimizer_variables=optimizer_variables,
    )
    assert float(scaled) == float(loss) == 16.0
    assert np.array(outputs).tolist() == [[9.0], [9.0]]
    assert len(metrics) == 2
    assert model.get_weights()[0] == 3.0


def test_merged_lora_is_part_of_the_kernel():
    layer = keras.layers.Dense(3)
    layer.build((None, 2))
    kernel = np.array(layer.kernel)
    layer.enable_lora(1, lora_alpha=5.0)
    layer.lora_kernel_a.assign([[1.0], [2.0]])
    layer.lora_kernel_b.assign([[0.5, 0.0, -1.0]])
    merge_lora(layer)
    product = [[0.5, 0.0, -1.0], [1.0, 0.0, -2.0]]
    assert np.array(layer.kernel) == pytest.approx(kernel + 5 * np.array(product))
    assert [variable.name for variable in layer.weights] == ["kernel", "bias"]
    # It can be added anew.
    layer.enable_lora(2)


def test_a_backbone_forgets_its_layers_with_lora():
    backbone = AlbertBackbone.from_config_preset("albert_test", num_layers=1)
    backbone.enable_lora(2)
    forget_lora(backbone)
    with pytest.raises(ValueError, match="no lora-enabled layers"):
        backbone.save_lora_weights("absent.lora.h5")
