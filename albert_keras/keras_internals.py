"""Undocumented names of Keras that the package uses, each in one function or mixin.

A new version of Keras may rename them without notice. Each function has a test of its
behaviour.
"""

import keras

LORA_VARIABLES = ("lora_kernel_", "lora_embeddings_")


def variable_index(optimizer, variable):
    """Returns the position of a variable in the list that an optimizer was built with.

    On TensorFlow, `update_step` gets variables without Keras' path, so an optimizer
    cannot find the settings of a variable by name.
    """
    return optimizer._get_variable_index(variable)


def flatten_layers(layer):
    """Returns a list of a layer or model and all layers inside it, at any depth."""
    return list(layer._flatten_layers())


def merge_lora(layer):
    """Adds the product of LoRA's matrices to the weights of a layer, and removes them.

    Keras saves the sum, and sets the product to 0 when it loads.
    """
    variables = {}
    layer.save_own_variables(variables)
    layer.load_own_variables(variables)
    layer.lora_enabled = False
    for name in [name for name in vars(layer) if name.startswith(LORA_VARIABLES)]:
        delattr(layer, name)


def forget_lora(backbone):
    """Makes keras-hub's methods treat a backbone as one without LoRA."""
    backbone._lora_enabled_layers = []


def sync_variables(model):
    """Copies the values of training into the variables of a model, inside `fit`.

    On JAX, `fit` keeps them in separate arrays. Other backends need no copy.
    """
    if keras.config.backend() == "jax":
        model.jax_state_sync()


def stateless_loss(model, *variables_and_batch, **options):
    """Computes a loss on JAX as a pure function of variables, for `jax.grad`.

    Args:
        model: Compiled Keras model.
        *variables_and_batch: Values of its trainable, non-trainable and metric variables;
            features, targets and sample weights.
        **options: `training`, and if it is true `optimizer_variables`.

    Returns:
        Tuple of the loss, scaled by the optimizer in mixed precision, and a tuple of the
        unscaled loss, the outputs, and the new values of the non-trainable and the metric
        variables.
    """
    return model.compute_loss_and_updates(*variables_and_batch, **options)


class DecaysInUpdateStep:
    """Mixin of Keras optimizers whose `update_step` decays each variable at its own rate.

    Keras would decay all variables at one rate before it.
    """

    def _apply_weight_decay(self, variables):
        """Decays nothing."""
