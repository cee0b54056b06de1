"""What our task models share: how they are compiled, and kept in presets."""

import os
import pathlib

import keras

from albert_keras.files import read_json
from albert_keras.shipped import LoadsShippedModels, check_preset
from albert_keras.train_step import ExactTrainStep


class SavedWithDefaults(LoadsShippedModels):
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

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a model from a preset of this class, or its backbone under a new head.

        A new head has random weights, and its model a new preprocessor, if this class
        has any, with the preset's tokenizer and the backbone's longest sequence.

        Args:
            preset: str or path. The name of a shipped model, which needs no network, a
                folder written by `save_to_preset`, or an address such as
                `hf://user/model`.
            load_weights: bool. `False` gives random weights of the preset's shape.
            **kwargs: Arguments of the class that replace saved ones; those of a new
                head, such as `num_classes`, must be given.

        Raises:
            ValueError: If the preset is unknown; the message lists the names.
        """
        preset = check_preset(preset)
        _keep_policy(preset, kwargs)
        if cls._needs_preprocessor(preset) and "preprocessor" not in kwargs:
            # Here, since tokenizers need TensorFlow, and models on JAX do not.
            from albert_keras.models.preprocessor import (
                AlbertTextClassifierPreprocessor,
            )
            from albert_keras.tokenizers.base import EncoderTokenizer

            kwargs["preprocessor"] = AlbertTextClassifierPreprocessor(
                EncoderTokenizer.from_preset(preset),
                sequence_length=read_json(pathlib.Path(preset, "config.json"))[
                    "config"
                ]["max_sequence_length"],
            )
        return super().from_preset(preset, load_weights, **kwargs)

    @classmethod
    def _needs_preprocessor(cls, preset):
        """Says whether keras-hub, which finds none of our tokenizers, would fail."""
        saved = registered_name(preset, "task.json")
        return (
            cls.preprocessor_cls is not None
            and os.path.isdir(preset)
            and saved != keras.saving.get_registered_name(cls)
        )


def _keep_policy(preset, kwargs):
    """Passes on a preset's mixed policy, which keras-hub takes for a plain type."""
    if not pathlib.Path(preset, "config.json").is_file():
        return
    config = read_json(pathlib.Path(preset, "config.json")).get("config", {})
    policy = config.get("dtype")
    if isinstance(policy, dict):
        policy = policy.get("config", {}).get("name")
    if isinstance(policy, str) and policy.startswith("mixed_"):
        kwargs.setdefault("dtype", policy)


class LeavesIdlePooler:
    """Mixin of task models, some of which read the output of each token alone.

    Of those, training must not expect a gradient of the pooler, which stays what it was,
    and files need not have it.
    """

    reads_pooled_output = True

    @property
    def trainable_variables(self):
        return self._without_idle_pooler(super().trainable_variables)

    @property
    def trainable_weights(self):
        return self._without_idle_pooler(super().trainable_weights)

    def _without_idle_pooler(self, variables):
        if self.reads_pooled_output:
            return variables
        idle = {id(variable) for variable in self.backbone.pooler.weights}
        return [variable for variable in variables if id(variable) not in idle]


class FineTuned(SavedWithDefaults, LeavesIdlePooler, ExactTrainStep):
    """Mixin of task models with a `dropout`, and defaults for fine-tuning."""

    def default_loss(self):
        """Returns what `compile(loss="auto")` means: cross-entropy of logits."""
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def default_metrics(self):
        """Returns what `compile(metrics="auto")` means: accuracy."""
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    def compile(self, optimizer="auto", loss="auto", *, metrics="auto", **kwargs):
        """Compiles for training; the defaults suit a first run on one device.

        The losses of several outputs weigh a half each, as the original's.

        Args:
            optimizer: Keras optimizer; `"auto"` means AdamW at 2e-5, a middle value of
                the paper's table 14.
            loss: `"auto"` means cross-entropy, or mean squared error for regression.
            metrics: `"auto"` means accuracy, weighted like the loss; none for
                regression.
            **kwargs: See `keras.Model.compile`.
        """
        if optimizer == "auto":
            optimizer = keras.optimizers.AdamW(2e-5)
        if loss == "auto":
            loss = self.default_loss()
        if metrics == "auto":
            metrics = None
            kwargs.setdefault("weighted_metrics", self.default_metrics())
        if isinstance(self.output, dict):
            kwargs.setdefault("loss_weights", dict.fromkeys(self.output, 0.5))
        super().compile(optimizer=optimizer, loss=loss, metrics=metrics, **kwargs)

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout}


def registered_name(preset, file_name):
    """Returns the class that a preset's file describes, as Keras knows it.

    Args:
        preset: str or path. The folder.
        file_name: str. `"config.json"` for the backbone, `"task.json"` for the model.

    Returns:
        str, or `None` if there is no such file, or one of another library.
    """
    if not pathlib.Path(preset, file_name).is_file():
        return None
    return read_json(pathlib.Path(preset, file_name)).get("registered_name")
