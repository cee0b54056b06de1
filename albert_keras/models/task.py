"""What our task models share: compiling from a saved file as from a call."""

import keras


class CompiledFromConfig:
    """Lets a model with its own `compile` defaults be compiled again when loaded.

    Keras skips compiling, with a warning, every loaded model that overrides `compile`;
    the arguments it stored are the final ones, so that passing them on is exact.
    """

    def compile_from_config(self, config):
        """Compiles with the arguments that a saved model was compiled with."""
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None and self.built:
            self.optimizer.build(self.trainable_variables)
