"""Sentence encoder: one vector for each text."""

import keras
import keras_hub
from keras import ops

from albert_keras.checks import check_choice
from albert_keras.layers.configured import dense_layer
from albert_keras.models.copies import on_backbone
from albert_keras.models.task import TaskModel
from albert_keras.preprocessors import AlbertTextEmbedderPreprocessor

POOLING_MODES = ("mean", "cls", "max")


def mean_over_tokens(tokens, padding_mask):
    """Returns the mean of `(batch, length, dim)` over the real tokens of each row."""
    # (batch, length, 1); each row has at least [CLS].
    mask = ops.cast(ops.expand_dims(padding_mask, -1), tokens.dtype)
    return ops.sum(tokens * mask, axis=1) / ops.sum(mask, axis=1)


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTextEmbedder(TaskModel, keras_hub.models.TextEmbedder):
    """Sentence encoder: pooled tokens, an optional dense layer, and normalization.

    It has keras-hub's arguments, and those of the modules of sentence-transformers.
    `from_preset` and `load_checkpoint` read folders of that library, and
    `save_checkpoint` writes them. There is no default loss: `compile(loss=...)`.

    Args:
        backbone: `AlbertBackbone`.
        preprocessor: `AlbertTextEmbedderPreprocessor`, or `None` to feed the backbone's
            input dict.
        pooling_mode: str. `"mean"` over the tokens of a text, [CLS] and [SEP] included;
            `"cls"`, the output of [CLS]; or `"max"` over the tokens. Default `"mean"`.
        normalize: bool. Whether vectors have the L2 norm 1, so that their products are
            cosines. Default True.
        dense_dim: int or `None`. Units of a dense layer after pooling. Default: no layer.
        dense_activation: str or function. Activation of the dense layer. Default
            `"tanh"`, as in sentence-transformers.
        dimensions: int or `None`. Number of leading dimensions to keep, before
            normalization, for a model trained with such a loss (Kusupati et al. 2022,
            Matryoshka representation learning, arXiv 2205.13147). Default: all.
        prompts: dict or `None`. Prefixes for `encode_text`, by name, such as
            `{"query": "query: "}`.
        default_prompt_name: str or `None`. Name of the prompt that `encode_text` uses by
            default.

    Input shape:
        Strings; without preprocessor the backbone's dict.

    Output shape:
        `(batch, embedding_dim)`, float32 under mixed precision. `embedding_dim` is
        `dimensions`, `dense_dim` or the backbone's `hidden_dim`.

    Raises:
        ValueError: If an argument is invalid, such as more `dimensions` than there are.

    Example:

    >>> from albert_keras.models import AlbertBackbone
    >>> backbone = AlbertBackbone.from_config_preset("albert_test")
    >>> AlbertTextEmbedder(backbone, dense_dim=11).output_shape
    (None, 11)

    Reference: Reimers and Gurevych 2019, Sentence-BERT, arXiv 1908.10084, section 3.
    """

    preprocessor_cls = AlbertTextEmbedderPreprocessor
    reads_pooled_output = False
    metrics_are_weighted = False
    arguments = (
        *("pooling_mode", "normalize", "dense_dim", "dimensions"),
        "default_prompt_name",
    )

    def __init__(
        self,
        backbone,
        preprocessor=None,
        pooling_mode="mean",
        normalize=True,
        dense_dim=None,
        dense_activation="tanh",
        dimensions=None,
        prompts=None,
        default_prompt_name=None,
        **kwargs,
    ):
        check_choice("pooling_mode", pooling_mode, POOLING_MODES)
        most = dense_dim or backbone.hidden_dim
        if dimensions is not None and dimensions not in range(1, most + 1):
            raise ValueError(
                f"`dimensions` must be an integer from 1 to the model's {most}. "
                f"Received: dimensions={dimensions}."
            )
        prompts = dict(prompts or {})
        if default_prompt_name is not None:
            check_choice("default_prompt_name", default_prompt_name, prompts)
        # === Layers ===
        self.backbone = backbone
        self.preprocessor = preprocessor
        config, dtype = backbone.albert_config, backbone.variable_dtype
        self.dense = dense_dim and dense_layer(
            config, dense_dim, dtype, "dense", activation=dense_activation
        )

        # === Functional Model ===
        self.pooling_mode, self.normalize = pooling_mode, normalize
        self.dense_dim, self.dimensions = dense_dim, dimensions
        tokens = backbone(backbone.input)["sequence_output"]
        embedding = self.pool(tokens, backbone.input["padding_mask"])
        super().__init__(inputs=backbone.input, outputs=embedding, **kwargs)

        # === Config ===
        self.dense_activation = keras.activations.get(dense_activation)
        self.prompts, self.default_prompt_name = prompts, default_prompt_name

    def pool(self, token_embeddings, padding_mask):
        """Returns the vectors of texts from the outputs of their tokens.

        Args:
            token_embeddings: `(batch, length, hidden_dim)`.
            padding_mask: `(batch, length)`, 1 on real tokens.

        Returns:
            `(batch, embedding_dim)`.
        """
        tokens = ops.cast(token_embeddings, self.backbone.variable_dtype)
        if self.pooling_mode == "mean":
            pooled = mean_over_tokens(tokens, padding_mask)
        elif self.pooling_mode == "max":
            is_real = ops.cast(ops.expand_dims(padding_mask, -1), "bool")
            pooled = ops.max(ops.where(is_real, tokens, -1e9), axis=1)
        else:
            pooled = tokens[:, 0]
        if self.dense is not None:
            pooled = self.dense(pooled)
        if self.dimensions is not None:
            pooled = pooled[:, : self.dimensions]
        return ops.normalize(pooled, axis=-1) if self.normalize else pooled

    def with_dimensions(self, dimensions):
        """Returns a model with fewer dimensions, the leading ones, on the same backbone.

        Args:
            dimensions: int.

        Raises:
            ValueError: If the model has fewer dimensions.

        Example:

        ```python
        small = ak.AlbertTextEmbedder(backbone).with_dimensions(8)
        ak.export_tflite(small, "small.tflite", "int8")
        ```
        """
        model = on_backbone(self, self.backbone, dimensions=dimensions)
        model.set_weights(self.get_weights())
        return model

    def encode_text(self, text, prompt_name=None, **kwargs):
        """Returns the vectors of texts, `(num_texts, embedding_dim)`.

        Args:
            text: str, or list of str.
            prompt_name: str or `None`. Name of the prompt to put before each text, as in
                sentence-transformers' `encode`. Default: `default_prompt_name`.
            **kwargs: Arguments of `predict`.

        Example:

        ```python
        embedder = ak.AlbertTextEmbedder.from_preset("albert_base_v2")
        query, *texts = embedder.encode_text(["a good film", "great!", "It rains."])
        texts @ query
        ```
        """
        name = prompt_name or self.default_prompt_name
        if name is not None:
            check_choice("prompt_name", name, self.prompts)
            texts = [text] if isinstance(text, str) else text
            text = [self.prompts[name] + each for each in texts]
        return super().encode_text(text, **kwargs)

    def get_config(self):
        return {
            **super().get_config(),
            "dense_activation": keras.activations.serialize(self.dense_activation),
            "prompts": dict(self.prompts),
        }

    def export_spec(self):
        return super().export_spec(kind="embedding", output_name="embedding")

    def default_loss(self):
        return None
