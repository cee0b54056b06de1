"""The names of Keras that the step on JAX stands on are still there."""

import inspect

# What the step computes is held by exact_test.py and tests/jax_backend_test.py.


def test_keras_still_has_what_is_used():
    from keras.src.backend.jax.trainer import JAXTrainer

    parameters = inspect.signature(JAXTrainer.compute_loss_and_updates).parameters
    assert list(parameters)[1:] == [
        *("trainable_variables", "non_trainable_variables", "metrics_variables"),
        *("x", "y", "sample_weight", "training", "optimizer_variables"),
    ]
