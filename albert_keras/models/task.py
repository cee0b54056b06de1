"""Mixins of the task models: compile defaults, saving, and presets."""

import contextlib
import os
import pathlib

import keras

from albert_keras.files import read_json
from albert_keras.keras_internals import flatten_layers
from albert_keras.optimizers import AdamW
from albert_keras.shipped import LoadsShippedModels, check_preset
from albert_keras.train_step import ExactTrainStep

# Dropout before the output layer, as in the original and the paper's table 14.
HEAD_DROPOUT = 0.1


class SavedWithDefaults(LoadsShippedModels):
    """Mixin of task models with their own `compile` defaults.

    A loaded model is compiled with the arguments that were saved, which Keras refuses to
    do for models that override `compile`. A preset holds the model without the
    optimizer's slots, which keras-hub would save with the head, so that no other
    optimizer could load it.
    """

    def get_compile_config(self):
        """Returns the arguments of `compile`, and whether the optimizer is built."""
        config = super().get_compile_config()
        if config:
            # A loaded optimizer may only have variables that the file has.
            config["optimizer_built"] = bool(self.optimizer and self.optimizer.built)
        return config

    def compile_from_config(self, config):
        """Compiles with the arguments in a saved configuration, if it has any.

        Args:
            config: Dict that `get_compile_config` returned, or `None`. Configurations of
                other versions may lack `optimizer_built`.
        """
        config = dict(config or {})
        optimizer_built = config.pop("optimizer_built", False)
        if not config:
            return
        self.compile(**keras.saving.deserialize_keras_object(config))
        if optimizer_built:
            self.optimizer.build(self.trainable_variables)

    def save_to_preset(self, preset_dir, max_shard_size=10):
        """Saves the model as a preset; see `keras_hub.models.Task.save_to_preset`."""
        with preprocessor_may_be_absent(self):
            super().save_to_preset(preset_dir, max_shard_size=max_shard_size)

    def save_task_weights(self, filepath):
        """Saves the weights of the head, for `save_to_preset`."""
        keras.saving.save_weights(self, filepath, objects_to_skip=self._not_the_head())

    def load_task_weights(self, filepath):
        """Loads the weights of the head that `save_task_weights` saved."""
        keras.saving.load_weights(self, filepath, objects_to_skip=self._not_the_head())

    def _not_the_head(self):
        return [*flatten_layers(self.backbone), self.optimizer]

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a model from a preset of this class, or a backbone under a new head.

        A new head has random weights. Its preprocessor, if this class has one, gets the
        preset's tokenizer and the backbone's maximum sequence length.

        Args:
            preset: str or path. The name of a shipped model, which needs no network, a
                folder written by `save_to_preset`, or an address such as
                `hf://user/model`.
            load_weights: bool. `False` for random weights.
            **kwargs: Arguments of the class that replace saved ones. Those of a new
                head, such as `num_classes`, are required.

        Raises:
            ValueError: If the preset is unknown; the message lists the names.
        """
        preset = check_preset(preset)
        _keep_policy(preset, kwargs)
        if cls._needs_preprocessor(preset) and "preprocessor" not in kwargs:
            # Imported here, since tokenizers need TensorFlow, and models do not.
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
        """Returns whether keras-hub would look for a tokenizer, and find none."""
        saved = registered_name(preset, "task.json")
        return (
            cls.preprocessor_cls is not None
            and os.path.isdir(preset)
            and saved != keras.saving.get_registered_name(cls)
        )


def _keep_policy(preset, kwargs):
    """Passes on a preset's mixed policy, of which keras-hub keeps one type only."""
    if not pathlib.Path(preset, "config.json").is_file():
        return
    config = read_json(pathlib.Path(preset, "config.json")).get("config", {})
    policy = config.get("dtype")
    if isinstance(policy, dict):
        policy = policy.get("config", {}).get("name")
    if isinstance(policy, str) and policy.startswith("mixed_"):
        kwargs.setdefault("dtype", policy)


class LeavesIdlePooler:
    """Mixin of task models that excludes the pooler from training if it is not used.

    Without a gradient the pooler stays as it is, and files may lack it.
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
    """Mixin of task models with a `dropout` and defaults for fine-tuning."""

    def default_loss(self):
        """Returns the loss of `compile(loss="auto")`: cross-entropy of logits."""
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def default_metrics(self):
        """Returns the metrics of `compile(metrics="auto")`: accuracy."""
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    def default_loss_weights(self):
        """Returns the weights of the losses of several outputs; `None` weighs all 1."""
        return None

    def compile(self, optimizer="auto", loss="auto", *, metrics="auto", **kwargs):
        """Compiles for training, by default as `albert-keras finetune` does.

        Args:
            optimizer: Keras optimizer; `"auto"` means `albert_keras.AdamW` at 2e-5, a
                middle value of the paper's table 14, with gradients clipped to a global
                norm of 1, as the original.
            loss: `"auto"` means cross-entropy, or mean squared error for regression.
            metrics: `"auto"` means accuracy, weighted like the loss; none for
                regression.
            **kwargs: See `ExactTrainStep.compile`. Question answerers have
                `loss_weights` of 0.5 by default.
        """
        if optimizer == "auto":
            optimizer = AdamW(global_clipnorm=1.0)
        if loss == "auto":
            loss = self.default_loss()
        if metrics == "auto":
            metrics = None
            kwargs.setdefault("weighted_metrics", self.default_metrics())
        kwargs.setdefault("loss_weights", self.default_loss_weights())
        super().compile(optimizer=optimizer, loss=loss, metrics=metrics, **kwargs)

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout}


@contextlib.contextmanager
def preprocessor_may_be_absent(model):
    """Lets keras-hub before 0.30 save a model without a preprocessor as a preset.

    It writes all files of the model, and fails at last on the preprocessor, `None`.

    Args:
        model: Model of keras-hub or of this package, saved inside the context.
    """
    try:
        yield
    except AttributeError as error:
        is_known = error.obj is None and error.name == "pop"
        if not is_known or getattr(model, "preprocessor", None) is not None:
            raise


def registered_name(preset, file_name):
    """Returns the registered Keras name of the class in a preset's file.

    Args:
        preset: str or path. The folder.
        file_name: str. `"config.json"` for the backbone, `"task.json"` for the model.

    Returns:
        str, or `None` if there is no such file, or one of another library.
    """
    if not pathlib.Path(preset, file_name).is_file():
        return None
    return read_json(pathlib.Path(preset, file_name)).get("registered_name")
