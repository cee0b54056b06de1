"""Base classes of the task models: defaults of `compile`, saving, and presets."""

import warnings

import keras
import keras_hub
from keras import tree

from albert_keras.keras_internals import flatten_layers
from albert_keras.layers.configured import dense_layer
from albert_keras.layers.seeds import Dropout
from albert_keras.models.backbone import AlbertBackbone, AlbertModel
from albert_keras.models.classes import accuracy_of, reads_logits
from albert_keras.models.export_spec import ExportSpec
from albert_keras.models.raw_text import FitsOnText
from albert_keras.optimizers import make_optimizer
from albert_keras.optimizers.adamw import rate_of_shape
from albert_keras.preprocessors.base import default_length
from albert_keras.presets.preset_files import is_own
from albert_keras.train_step import ExactTrainStep


class TaskModel(AlbertModel, FitsOnText, ExactTrainStep):
    """Mixin of keras-hub's tasks: defaults of `compile`, saving, and presets.

    keras-hub saves the optimizer's slots with the head, so that a model with another
    optimizer cannot load it. Presets of this package have no slots.
    """

    backbone_cls = AlbertBackbone
    # Whether sample weights select tokens or positions, so that metrics must use them.
    metrics_are_weighted = True
    # Whether the pooler is trained. If not, files may lack it.
    reads_pooled_output = True
    # Weight of the loss of each output; `None` means 1.
    loss_weight = None
    # Attributes that `get_config` saves.
    arguments = ()
    # Other classes whose presets `from_preset` reads.
    also_loads = ()

    def __init__(self, inputs, outputs, name=None, trainable=None, compile=True):
        # Keras would accept and ignore other arguments.
        options = {"name": name, "trainable": trainable, "compile": compile}
        super().__init__(inputs, outputs, **options)

    def get_config(self):
        values = {name: getattr(self, name) for name in self.arguments}
        # JSON has no tuples; `labels` is one.
        lists = {n: [*v] for n, v in values.items() if isinstance(v, tuple)}
        return {**super().get_config(), **values, **lists}

    @property
    def trainable_variables(self):
        variables = super().trainable_variables
        if self.reads_pooled_output:
            return variables
        idle = {id(variable) for variable in self.backbone.pooler.weights}
        return [variable for variable in variables if id(variable) not in idle]

    trainable_weights = trainable_variables

    def export_spec(self, **facts):
        """Returns the `ExportSpec`: what exports and tasks need to know of the model.

        Args:
            **facts: Fields of `ExportSpec` that a head states, such as `kind`.

        Example:

        >>> from albert_keras.models import AlbertBackbone, AlbertMultipleChoice
        >>> backbone = AlbertBackbone.from_config_preset("albert_test")
        >>> AlbertMultipleChoice(backbone).export_spec().kind
        'choices'
        """
        can_be_saved = isinstance(self.preprocessor, keras_hub.models.Preprocessor)
        preprocessor = self.preprocessor if can_be_saved else None
        return ExportSpec(self, self.backbone, preprocessor, **facts)

    def default_optimizer(self):
        """Returns the optimizer of `compile(optimizer="auto")`."""
        return make_optimizer()

    def default_rate(self):
        """Returns the learning rate for an `albert_keras.AdamW` without one."""
        return rate_of_shape(self.backbone.hidden_dim, self.backbone.num_layers)

    def default_loss(self):
        """Returns the loss of `compile(loss="auto")`.

        It is the cross-entropy of each output, or for regression mean squared error.
        """
        if self.export_spec().kind == "regression":
            return keras.losses.MeanSquaredError()
        return tree.map_structure(
            lambda _: keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            self.output,
        )

    def default_metrics(self, loss):
        """Returns the metrics of `compile(metrics="auto")`: accuracies by the loss."""
        return tree.map_structure(accuracy_of, loss)

    def compile(self, optimizer="auto", loss="auto", *, metrics="auto", **kwargs):
        """Configures the model for training, by default as `albert-keras finetune` does.

        Args:
            optimizer: Keras optimizer. `"auto"` means `albert_keras.AdamW` with gradients
                clipped to a global norm of 1, as in the original. Its learning rate, and
                that of an `AdamW` without one, is 2e-5, a middle value of the paper's
                table 14, and higher for models narrower than 768. For pretraining it is
                1e-4, for small batches on one device.
            loss: `"auto"` means cross-entropy, or mean squared error for regression.
            metrics: `"auto"` means the accuracy that fits the loss, if any; none for
                pretraining. Sample weights that select tokens or positions weight the
                accuracy too; weights of whole examples do not.
            **kwargs: See `ExactTrainStep.compile`. Question answerers have
                `loss_weights` of 0.5 by default, other models 1, as in the original.
        """
        if optimizer == "auto":
            optimizer = self.default_optimizer()
        if getattr(optimizer, "has_default_rate", False):
            optimizer.learning_rate = self.default_rate()
        if loss == "auto":
            loss = self.default_loss()
        for each in tree.flatten(loss):
            self._check_outputs_fit(each)
        if metrics == "auto":
            given = "weighted_metrics" in kwargs
            metrics = None if given else self.default_metrics(loss)
            if self.metrics_are_weighted:
                kwargs.setdefault("weighted_metrics", metrics)
                metrics = None
        if self.loss_weight is not None:
            weights = dict.fromkeys(self.output, self.loss_weight)
            kwargs.setdefault("loss_weights", weights)
        super().compile(optimizer=optimizer, loss=loss, metrics=metrics, **kwargs)

    def _check_outputs_fit(self, loss):
        """Warns of a cross-entropy that takes logits for probabilities, or vice versa."""
        gives_logits = self.export_spec().output_name != "probabilities"
        if reads_logits(loss) is (not gives_logits):
            outputs = "logits" if gives_logits else "probabilities"
            warnings.warn(
                f"A cross-entropy must read {outputs}, as this model returns. Received: "
                f"{loss}. Pass a loss object with from_logits={gives_logits}, or change "
                "the `activation` of the model.",
                stacklevel=3,
            )

    def quantize(self, mode="int8", **kwargs):
        """Quantizes the backbone for inference. The head, which is small, stays in float.

        Keras' own method tries the layers of the preprocessor too, and cannot load a
        quantized head.

        Args:
            mode, **kwargs: See `keras.Model.quantize`.

        Example:

        ```python
        classifier.quantize("int8")
        classifier.save("film.keras")
        ```
        """
        with warnings.catch_warnings():
            # Keras warns of each layer without matrices.
            warnings.filterwarnings("ignore", ".* `quantize` method implemented")
            self.backbone.quantize(mode, **kwargs)
        self.retrace()

    def merge_lora(self):
        """Merges LoRA into the backbone's weights.

        The outputs stay the same, and `save_checkpoint` can write all formats. The model
        gets a new optimizer of the same kind, for all weights.

        Example:

        ```python
        classifier.backbone.enable_lora(rank=4)
        classifier.fit(texts, labels)
        classifier.merge_lora()
        ```
        """
        self.backbone.merge_lora()
        if self.optimizer is not None:
            # The old optimizer has slots for LoRA's variables.
            config = self.optimizer.get_config()
            self.optimizer = type(self.optimizer).from_config(config)
        self.retrace()

    def save_task_weights(self, filepath):
        """Saves the weights of the head, for `save_to_preset`."""
        keras.saving.save_weights(self, filepath, objects_to_skip=self._not_the_head())

    def load_task_weights(self, filepath):
        """Loads the weights of the head that `save_task_weights` saved."""
        keras.saving.load_weights(self, filepath, objects_to_skip=self._not_the_head())

    def _not_the_head(self):
        return [*flatten_layers(self.backbone), self.optimizer]

    def add_tokenizer(self, tokenizer, path):
        """Sets a preprocessor with a tokenizer, if there is one and the class has one.

        Its options are those of the preset at `path`, its length that of the checkpoint.
        """
        if tokenizer is None or self.preprocessor_cls is None:
            return
        if is_own(path / "config.json"):
            made = self.preprocessor_cls.from_preset(path, tokenizer=tokenizer)
        else:
            length = default_length(path, self.backbone.max_sequence_length)
            made = self.preprocessor_cls(tokenizer, sequence_length=length)
        self.preprocessor = made


class FineTuned(TaskModel):
    """Mixin of task models that end in dropout and one dense layer, named `logits`."""

    arguments = ("dropout",)

    def add_layers(self, backbone, preprocessor, num_outputs, dropout, activation=None):
        """Sets the backbone and builds `output_dropout` and `output_dense`."""
        self.backbone, self.preprocessor = backbone, preprocessor
        self.dropout = dropout
        self.output_dropout = Dropout(
            dropout, dtype=backbone.dtype_policy, name="output_dropout"
        )
        config, dtype = backbone.albert_config, backbone.variable_dtype
        self.output_dense = dense_layer(
            config, num_outputs, dtype, "logits", activation=activation
        )
