"""What our task models share: compiling from a saved file as from a call."""

import keras


class CompiledFromConfig:
    """Lets a model with its own `compile` defaults be compiled again when loaded.

    Keras skips compiling, with a warning, every loaded model that overrides `compile`;
    the arguments it stored are the final ones, so that passing them on is exact.
    """

    def get_compile_config(self):
        """Returns the arguments of `compile`, and whether `fit` has used them yet."""
        config = super().get_compile_config()
        if config:
            # Else the loaded optimizer would have variables that the file has not.
            config["optimizer_built"] = bool(self.optimizer and self.optimizer.built)
        return config

    def compile_from_config(self, config):
        """Compiles with the arguments that a saved model was compiled with."""
        config = dict(config)
        optimizer_built = config.pop("optimizer_built")
        self.compile(**keras.saving.deserialize_keras_object(config))
        if optimizer_built:
            self.optimizer.build(self.trainable_variables)
