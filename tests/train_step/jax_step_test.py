"""The JAX step, in processes of its own: overridden, and lowered for TPU and GPU.

The step has not run on a TPU.
"""

import keras
import numpy as np
import pytest

from albert_keras.train_step import ExactTrainStep
from tests.forked_processes import forked_processes
from tests.train_step import cut_batches


class Logged(ExactTrainStep, keras.Model):
    """Overrides the step as Keras documents it for JAX."""

    def train_step(self, state, data):
        logs, state = super().train_step(state, data)
        return {**logs, "twice": 2 * logs["loss"]}, state

    def test_step(self, state, data):
        logs, state = super().test_step(state, data)
        return {**logs, "thrice": 3 * logs["loss"]}, state


def override():
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


def largest_difference(found, expected):
    pairs = zip(keras.tree.flatten(found), keras.tree.flatten(expected), strict=True)
    return max(
        float(np.abs(np.asarray(a, "float64") - np.asarray(b, "float64")).max())
        for a, b in pairs
    )


def lower():
    """Lowers a whole step with bfloat16, recomputation and dropout."""
    import jax
    from jax import export

    fields = {"dtype": "mixed_bfloat16", "dropout": 0.1, "rematerialization": True}
    model = cut_batches.make_pretrainer(fields=fields, micro_batches=2)
    batches = cut_batches.uneven_batches().take(1)
    # This builds the optimizer and the metrics too.
    model.evaluate(batches, verbose=0)
    # In step 0, the learning rate is 0.
    model.optimizer.iterations.assign(3)
    state = tuple(
        [variable.value for variable in variables]
        for variables in (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
            model.metrics_variables,
        )
    )
    (data,) = batches.as_numpy_iterator()
    data = keras.tree.map_structure(jax.numpy.asarray, data)
    step = jax.jit(model.train_step)
    lowered = export.export(step, platforms=("tpu", "cuda", "cpu"))(state, data)
    logs, new_state = step(state, data)
    num_state = len(keras.tree.flatten(state))
    assert len(lowered.out_avals) - len(logs) == num_state > 100
    # On a CPU the lowered program gives the results of the step.
    assert largest_difference(new_state[0], state[0]) > 1e-3
    assert largest_difference(lowered.call(state, data), (logs, new_state)) < 1e-5

    program = lowered.mlir_module()
    for aval in (*lowered.in_avals, *lowered.out_avals):
        assert all(type(size) is int for size in aval.shape)
    assert "tensor<?" not in program
    assert "x?x" not in program
    # The products of the encoder are those of tensors with a sequence axis.
    products = [
        line
        for line in program.splitlines()
        if "stablehlo.dot_general" in line and f"x{cut_batches.LENGTH}x" in line
    ]
    assert products
    assert all("bf16>" in line for line in products)
    # Layers are recomputed.
    assert "optimization_barrier" in program


@pytest.mark.slow
@pytest.mark.parametrize("main", [override, lower])
def test_step_on_jax(main):
    pytest.importorskip("jax")
    with forked_processes() as start:
        process = start(main, KERAS_BACKEND="jax")
        _, errors = process.communicate(timeout=900)
    assert process.returncode == 0, errors
