"""ALBERT encoder."""

import pkgutil

import keras
import keras_hub
from keras import ops

from albert_keras.config import AlbertConfig, without_removed
from albert_keras.keras_internals import flatten_layers, forget_lora, merge_lora
from albert_keras.layers import EncoderStack, FactorizedEmbedding, build_encoders
from albert_keras.layers.configured import dense_layer
from albert_keras.layers.positions import positions_in_example, same_example_mask
from albert_keras.models.export_spec import ExportSpec
from albert_keras.presets.hub import SHIPPED_MODELS, SavesByName

_PRESETS = {name: {"metadata": about} for name, about in SHIPPED_MODELS.items()}
# Imported later, since it needs models.
_READER = "albert_keras.converters.loading:read_model"
# Names of the axes of inputs, by the number of axes or the input's name, for JAX.
_AXES = {
    **{1: "(batch)", 2: "(batch, length)", 3: "(batch, choices, length)"},
    "mask_positions": "(batch, masks)",
}


class AlbertModel(SavesByName):
    """Mixin of keras-hub's models, for models by name and exports on JAX."""

    # keras-hub's public attribute with the known names.
    presets = _PRESETS

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Loads a model from a preset, or from a checkpoint of another library.

        Args:
            preset: str or path. A folder of a preset, of a run, or of files that
                `load_checkpoint` reads; a name such as `albert_base_v2`; or an address
                such as `hf://USER/MODEL`. See `albert_keras.presets.hub.local_files`.
            load_weights: bool. `False` gives random weights of the preset's shape.
            **kwargs: Arguments of the class that replace saved ones. If `num_classes`
                differs from the files, the head is new. Models with a head also take
                `tokenizer`, as `load_checkpoint`. All classes take `attention="block"`
                and the other fields of `AlbertConfig` about attention.

        Raises:
            FileNotFoundError: If the preset is unknown; the message lists the names.
            ValueError: If its files are damaged or contradict each other.
            ValueError, TypeError: If an argument is unknown.
        """
        return pkgutil.resolve_name(_READER)(cls, preset, load_weights, kwargs)

    def export(self, filepath, format="tf_saved_model", **kwargs):
        """Writes the model for inference on features; see `keras.Model.export`.

        On JAX too, the program takes rows of any length.
        """
        if keras.config.backend() == "jax" and format == "tf_saved_model":
            inputs = self.input.items()
            # By default each input could have another length.
            shapes = {n: _AXES.get(n, _AXES[len(t.shape)]) for n, t in inputs}
            longest = getattr(self, "backbone", self).albert_config.max_sequence_length
            options = {
                "polymorphic_shapes": [shapes],
                "polymorphic_constraints": [f"length <= {longest}"],
                # Gradients would be traced without the constraint.
                "with_gradient": False,
            }
            kwargs.setdefault("jax2tf_kwargs", options)
        super().export(filepath, format, **kwargs)


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertBackbone(AlbertModel, keras_hub.models.Backbone):
    """ALBERT encoder: factorized embedding, and a transformer layer shared across depth.

    It takes all arguments of `keras_hub.models.AlbertBackbone`, with the same meaning,
    and the other fields of `AlbertConfig` by keyword.

    Args:
        vocabulary_size, ..., num_segments, and other fields: See `AlbertConfig`, which
            documents them with defaults and sources.
        dtype: Keras dtype policy, such as `"mixed_bfloat16"`.

    Input shape:
        Dict of integer tensors `(batch, sequence_length)`: `token_ids`, `segment_ids`
        (0 or 1), `padding_mask` (1 = real).

    Output shape:
        Dict: `sequence_output` `(batch, sequence_length, hidden_dim)`; `pooled_output`
        `(batch, hidden_dim)`, a dense layer with tanh on position 0.

    Raises:
        ValueError: If a hyperparameter is outside its range.

    Example:

    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> ids = keras.ops.ones((2, 7), dtype="int32")
    >>> outputs = backbone(
    ...     {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids}
    ... )
    >>> tuple(outputs["sequence_output"].shape)
    (2, 7, 24)

    Reference: Lan et al. 2020, section 3.1; google-research/albert modeling.py.
    """

    def __init__(
        self,
        vocabulary_size,
        num_layers,
        num_heads,
        embedding_dim,
        hidden_dim,
        intermediate_dim,
        num_groups=AlbertConfig.num_groups,
        num_inner_repetitions=AlbertConfig.num_inner_repetitions,
        dropout=AlbertConfig.dropout,
        max_sequence_length=AlbertConfig.max_sequence_length,
        num_segments=AlbertConfig.num_segments,
        *,
        dtype=None,
        **kwargs,
    ):
        # Keras would ignore unknown names; `AlbertConfig` refuses them.
        of_keras = {n: kwargs.pop(n) for n in ("name", "trainable") if n in kwargs}
        config = AlbertConfig(
            *(vocabulary_size, num_layers, num_heads, embedding_dim, hidden_dim),
            *(intermediate_dim, num_groups, num_inner_repetitions, dropout),
            max_sequence_length=max_sequence_length,
            num_segments=num_segments,
            **kwargs,
        )

        # === Layers ===
        self.embedding = FactorizedEmbedding(config, dtype=dtype, name="embedding")
        self.token_embedding = self.embedding.token_embedding
        self.encoders = build_encoders(config, dtype)
        self.pooler = dense_layer(
            config, hidden_dim, dtype, "pooler", activation="tanh"
        )
        # Built last: LoRA files name a layer by its place among all layers.
        self.encoder_stack = EncoderStack(
            config, self.encoders, dtype=dtype, name="encoder_stack"
        )

        # === Functional Model ===
        inputs = {
            name: keras.Input(shape=(None,), dtype="int32", name=name)
            for name in ("token_ids", "segment_ids", "padding_mask")
        }
        x = self.encoder_stack(*self.embed(inputs))
        pooled_output = self.pooler(x[:, 0, :])
        super().__init__(
            inputs=inputs,
            outputs={"sequence_output": x, "pooled_output": pooled_output},
            dtype=dtype,
            **of_keras,
        )

        # === Config ===
        self.albert_config = config
        # keras-hub reads hyperparameters as attributes of the backbone.
        for name, value in config.to_dict().items():
            setattr(self, name, value)

    @classmethod
    def from_config_preset(cls, name, dtype=None, **overrides):
        """Returns a randomly initialized backbone; `from_preset` loads trained weights.

        Args:
            name, **overrides: See `AlbertConfig.from_preset`.
            dtype: Keras dtype policy.
        """
        config = AlbertConfig.from_preset(name, **overrides)
        return cls(**config.to_dict(), dtype=dtype)

    @property
    def layers(self):
        """The layers of the graph, with the encoders in place of their stack.

        Weights files name a layer by its place in this list.
        """
        layers = []
        for layer in super().layers:
            is_stack = layer is self.encoder_stack
            layers += dict.fromkeys(self.encoders) if is_stack else [layer]
        return layers

    @property
    def layers_of_depths(self):
        """The encoders of each layer: a list of `num_layers` tuples.

        A tuple has `num_inner_repetitions` encoders. Shared encoders occur several times.
        """
        each = self.albert_config.num_inner_repetitions
        return [
            tuple(self.encoders[start : start + each])
            for start in range(0, len(self.encoders), each)
        ]

    def embed(self, inputs, training=None):
        """Returns the embedded tokens and the attention mask, for packed rows too."""
        ids = inputs["token_ids"], inputs["segment_ids"]
        if "sequence_ids" not in inputs:
            return self.embedding(*ids, training=training), inputs["padding_mask"]
        mask = same_example_mask(inputs["sequence_ids"])
        positions = positions_in_example(mask)
        return self.embedding(*ids, positions, training=training), mask

    def with_outputs(self, hidden_states=False, attention_scores=False):
        """Returns a model on the same weights that also returns intermediate values.

        Args:
            hidden_states: bool. Adds `hidden_states`: list of `num_layers *
                num_inner_repetitions + 1` tensors `(batch, sequence_length,
                hidden_dim)`, the projected embedding first.
            attention_scores: bool. Adds `attention_scores`: for each layer, the
                probabilities `(batch, num_heads, sequence_length, sequence_length)`.

        Returns:
            `keras.Model` with this backbone's inputs, and both kinds of outputs.
        """
        given = {"hidden_states": hidden_states, "attention_scores": attention_scores}
        return _IntermediateOutputs(
            self, tuple(n for n, is_in in given.items() if is_in)
        )

    def encode_packed(self, inputs, training=False):
        """Encodes packed rows, which hold several examples each.

        Tokens attend only to tokens of the same example, and the positions of each
        example start at 0.

        Args:
            inputs: Dict of integer tensors `(batch, sequence_length)`: `token_ids`,
                `segment_ids`, and `sequence_ids`: 1 for the tokens of a row's first
                example, 2 for the second, and so on; 0 for padding.
            training: bool.

        Returns:
            `sequence_output`, `(batch, sequence_length, hidden_dim)`.

        Reference: Krell et al. 2021, arXiv 2107.02027.
        """
        x, mask = self.embed(inputs, training)
        return self.encoder_stack(x, mask, training=training)

    def pool_every_layer(self, inputs, training=False):
        """Returns the pooled output after every layer, `(batch, num_layers, hidden_dim)`.

        Args:
            inputs: The backbone's dict.
            training: bool.
        """
        _, outputs = self.encoder_stack(
            *self.embed(inputs, training), training=training, return_hidden_states=True
        )
        each = self.albert_config.num_inner_repetitions
        states = outputs["hidden_states"][each::each]
        return self.pooler(ops.stack([x[:, 0] for x in states], axis=1))

    def export_spec(self):
        """Returns the `ExportSpec`; see `TaskModel.export_spec`."""
        return ExportSpec(self, self, kind="backbone")

    def merge_lora(self):
        """Merges LoRA into the weights.

        The outputs stay the same, and all weights become trainable. For a model with a
        head, call the model's `merge_lora`.

        Example:

        ```python
        backbone.enable_lora(rank=4)
        model.fit(texts, labels)
        backbone.merge_lora()
        ```
        """
        for layer in flatten_layers(self):
            if getattr(layer, "lora_enabled", False):
                merge_lora(layer)
            # Only a change reaches the variables.
            layer.trainable = False
        self.trainable = True
        forget_lora(self)

    def get_config(self):
        return {**super().get_config(), **self.albert_config.to_dict()}

    @classmethod
    def from_config(cls, config):
        return super().from_config(without_removed(config))


class _IntermediateOutputs(keras.Model):
    """Backbone that also returns hidden states and attention scores.

    It is not a functional model: a layer in Keras' graph must return the same number of
    outputs in every call.
    """

    def __init__(self, backbone, added):
        # The default name begins with "_", which TensorFlow's graphs refuse.
        super().__init__(name="intermediate_outputs")
        self.backbone, self.added = backbone, added

    def call(self, inputs, training=False):
        backbone = self.backbone
        x, outputs = backbone.encoder_stack(
            *backbone.embed(inputs, training),
            training=training,
            return_hidden_states=True,
            return_attention_scores="attention_scores" in self.added,
        )
        outputs = {name: outputs[name] for name in self.added}
        pooled_output = backbone.pooler(x[:, 0, :])
        return {"sequence_output": x, "pooled_output": pooled_output, **outputs}
