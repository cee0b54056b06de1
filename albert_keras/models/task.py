"""What our task models share: how they are compiled again, and kept in presets."""

import keras


class SavedWithDefaults:
    """Mixin of task models with their own `compile` defaults.

    Keras skips compiling, with a warning, every loaded model that overrides `compile`;
    the arguments it stored are the final ones, so that passing them on is exact. And
    keras-hub writes the optimizer's slots into a preset's head weights, where no other
    optimizer can load them: here a preset holds the model alone.
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

    def save_task_weights(self, filepath):
        """Saves the weights that are not the backbone's, for `save_to_preset`."""
        keras.saving.save_weights(self, filepath, objects_to_skip=self._not_the_head())

    def load_task_weights(self, filepath):
        """Loads what `save_task_weights` saved."""
        keras.saving.load_weights(self, filepath, objects_to_skip=self._not_the_head())

    def _not_the_head(self):
        return [*self.backbone._flatten_layers(), self.optimizer]
