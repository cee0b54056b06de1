"""Hyperparameters of the encoder, and the published sizes."""

import dataclasses

from albert_keras.checks import check_choice, shortened
from albert_keras.options import Range, check_fields, option

# Beyond any use: with 8 heads, the attention probabilities of one text take 137 GB.
MAX_POSITIONS = 2**16
# Each layer takes time to build, even if layers share their weights.
MAX_DEPTH = 128

SHARING = ("all", "attention", "ffn", "none")
ACTIVATIONS = ("gelu_tanh", "gelu", "relu", "silu")

# Fields that set which tokens attend to each other. They do not depend on the weights.
ATTENTION_FIELDS = ("attention", "block_size", "num_global_blocks", "num_window_blocks")

# Dropout before the output layer of a fine-tuned model, as in Google's code and the
# paper's table 14.
HEAD_DROPOUT = 0.1


def _count(help, maximum, default=dataclasses.MISSING):
    # The maximum is beyond any use: larger numbers fail before memory is allocated.
    return option(help, default, Range(1, maximum))


def _rate(help, default):
    return option(help, default, Range(0, below=1))


@dataclasses.dataclass(frozen=True)
class AlbertConfig:
    """Hyperparameters of an ALBERT encoder, checked, with their defaults.

    Args:
        vocabulary_size: int. Number of tokens in the vocabulary.
        num_layers: int. Number of times that a transformer layer is applied. Multiplied
            by `num_inner_repetitions` at most 128.
        num_heads: int. Attention heads; must divide `hidden_dim`.
        embedding_dim: int. Width E of the embedding tables. If it equals `hidden_dim`,
            there is no projection, as in Google's code and in BERT.
        hidden_dim: int. Width H of the encoder.
        intermediate_dim: int. Width of the feed-forward sub-layer, 4 H in the paper.
        num_groups: int. Groups of layers that share parameters; layer i belongs to
            group `i * num_groups // num_layers`. Default as in the released models.
        num_inner_repetitions: int. Different layers inside one layer of the stack,
            applied one after the other. Default as in the released models.
        dropout: float in [0, 1). Dropout of embeddings and sub-layer outputs. Default
            as in the v2 checkpoints.
        attention_dropout: float in [0, 1), or `None` for the value of `dropout`. Dropout
            of attention probabilities.
        max_sequence_length: int. Number of position embeddings.
        num_segments: int. Number of segment embeddings.
        sharing: str. Which sub-layers are shared across depth: `"all"` (ALBERT),
            `"attention"`, `"ffn"`, `"none"` (BERT).
        activation: str. `"gelu_tanh"` (Google's gelu), `"gelu"` (exact, by erf),
            `"relu"` (Google's Chinese checkpoints), or `"silu"`.
        layer_norm_epsilon: float. Default as in all released checkpoints.
        initializer_range: float. Standard deviation of the truncated normal
            initializer.
        rematerialization: bool. Whether to recompute each layer's activations in the
            backward pass instead of storing them: less memory, about a third more time.
        always_project_embeddings: bool. Whether to project embeddings even if
            `embedding_dim` equals `hidden_dim`, as transformers and keras-hub do. Default
            as in Google's code.
        attention: str. `"full"`, or `"block"`: a token attends to its own block of
            `block_size` tokens, to `num_window_blocks` blocks on each side, and to the
            first `num_global_blocks`, which attend to all. The weights are the same. Time
            and memory grow with a row's length, not its square.
        block_size: int. Tokens of a block. Default as in BigBird.
        num_global_blocks: int. Default 1, the block of `[CLS]`.
        num_window_blocks: int. Default as in BigBird.

    Raises:
        ValueError: If a value is outside its range.

    Example:

    >>> AlbertConfig.from_preset("albert_base_v2").hidden_dim
    768

    Reference: Lan et al. 2020, section 3.1; google-research/albert modeling.py.
    """

    vocabulary_size: int = _count("number of rows of the token table", 2**24)
    num_layers: int = _count("number of times that a layer is applied", MAX_DEPTH)
    num_heads: int = _count("number of attention heads", 1024)
    embedding_dim: int = _count("width of the embedding tables", 2**16)
    hidden_dim: int = _count("width of the encoder", 2**16)
    intermediate_dim: int = _count("width of the feed-forward network", 2**18)
    num_groups: int = _count("groups of layers that share parameters", MAX_DEPTH, 1)
    num_inner_repetitions: int = _count("layers inside each layer", MAX_DEPTH, 1)
    dropout: float = _rate("dropout of embeddings and sub-layer outputs", 0.0)
    attention_dropout: float | None = _rate("dropout of attention probabilities", None)
    max_sequence_length: int = _count("positions, the longest row", MAX_POSITIONS, 512)
    num_segments: int = _count("segment embeddings", 1024, 2)
    sharing: str = option("sub-layers that all layers share", "all", choices=SHARING)
    activation: str = option(
        "activation of the feed-forward network", "gelu_tanh", choices=ACTIVATIONS
    )
    layer_norm_epsilon: float = option(
        "epsilon of layer normalization", 1e-12, Range(above=0, maximum=1)
    )
    initializer_range: float = option(
        "standard deviation of initial weights", 0.02, Range(above=0, maximum=10)
    )
    rematerialization: bool = option("recompute layers to save memory", False)
    always_project_embeddings: bool = option(
        "project embeddings also if they are as wide as the encoder", False
    )

    attention: str = option(
        "tokens that a token attends to: full, all tokens of its row; block, the tokens "
        "of its block, of the blocks around it and of the first blocks",
        "full",
        choices=("full", "block"),
    )
    block_size: int = _count("tokens of a block in block attention", MAX_POSITIONS, 64)
    num_global_blocks: int = _count("first blocks, attending to all", MAX_POSITIONS, 1)
    num_window_blocks: int = _count("neighboring blocks on each side", MAX_POSITIONS, 1)

    def __post_init__(self):
        check_fields(self)
        if self.hidden_dim % self.num_heads:
            raise ValueError(
                "`hidden_dim` must be divisible by `num_heads`. Received: "
                f"hidden_dim={self.hidden_dim}, num_heads={self.num_heads}."
            )
        if self.num_layers * self.num_inner_repetitions > MAX_DEPTH:
            raise ValueError(
                "`num_layers` times `num_inner_repetitions` must be at most "
                f"{MAX_DEPTH}. Received: num_layers={self.num_layers}, "
                f"num_inner_repetitions={self.num_inner_repetitions}."
            )

    @classmethod
    def from_preset(cls, name, **overrides):
        """Returns the size `name` of `PRESETS`, with fields replaced by `overrides`.

        Raises:
            ValueError: If `name` is unknown; the message lists the known ones.
        """
        check_choice("name", name, PRESETS)
        return cls.from_dict({**PRESETS[name].to_dict(), **overrides})

    @classmethod
    def from_dict(cls, values):
        """Builds a config; raises a ValueError if a key is unknown or missing."""
        values = without_removed(values)
        try:
            return cls(**values)
        except TypeError as error:
            raise ValueError(
                "A config must have the fields of `AlbertConfig`. Received: "
                f"{shortened(str(error))}."
            ) from error

    def to_dict(self):
        """Returns the fields as a JSON-ready dict, the inverse of `from_dict`."""
        return dataclasses.asdict(self)

    def shares(self, sub_layer):
        """Returns whether `"attention"` or `"ffn"` sub-layers are shared across depth."""
        return self.sharing in ("all", sub_layer)

    @property
    def projects_embeddings(self):
        """Whether a dense layer follows the sum of the embeddings."""
        return self.always_project_embeddings or self.embedding_dim != self.hidden_dim

    @property
    def attention_dropout_rate(self):
        """Dropout of attention probabilities, float in [0, 1)."""
        own_rate = self.attention_dropout
        return self.dropout if own_rate is None else own_rate


def without_removed(values):
    """Removes `keep_positions`, a field of version 0.2, from a dict if it is empty."""
    return {n: v for n, v in values.items() if (n, v) != ("keep_positions", [])}


def _albert(num_layers, num_heads, hidden_dim, vocabulary_size=30000, **others):
    return AlbertConfig(
        vocabulary_size=vocabulary_size,
        num_layers=num_layers,
        num_heads=num_heads,
        embedding_dim=others.pop("embedding_dim", 128),
        hidden_dim=hidden_dim,
        intermediate_dim=4 * hidden_dim,
        **others,
    )


_BERT = {"sharing": "none", "dropout": 0.1}

PRESETS = {
    # Paper table 1. Dropout is 0.1, in xxlarge (section 4.8) and in v2 0. xlarge has 16
    # heads, as in the released config, not the paper's H / 64 = 32.
    "albert_base_v1": _albert(12, 12, 768, dropout=0.1),
    "albert_large_v1": _albert(24, 16, 1024, dropout=0.1),
    "albert_xlarge_v1": _albert(24, 16, 2048, dropout=0.1),
    "albert_xxlarge_v1": _albert(12, 64, 4096),
    "albert_base_v2": _albert(12, 12, 768),
    "albert_large_v2": _albert(24, 16, 1024),
    "albert_xlarge_v2": _albert(24, 16, 2048),
    "albert_xxlarge_v2": _albert(12, 64, 4096),
    # brightmart/albert_zh, tiny_google and small_google.
    "albert_tiny_zh": _albert(4, 12, 312, 21128),
    "albert_small_zh": _albert(6, 12, 384, 21128),
    # google-research/albert, Chinese models: relu; wide ones have a smaller initializer.
    "albert_base_zh": _albert(12, 12, 768, 21128, activation="relu"),
    "albert_large_zh": _albert(24, 16, 1024, 21128, activation="relu"),
    "albert_xlarge_zh": _albert(
        24, 16, 2048, 21128, activation="relu", initializer_range=0.014
    ),
    "albert_xxlarge_zh": _albert(
        12, 16, 4096, 21128, activation="relu", initializer_range=0.01
    ),
    # The paper's baselines: BERT with the same vocabulary.
    "bert_base": _albert(12, 12, 768, embedding_dim=768, **_BERT),
    "bert_large": _albert(24, 16, 1024, embedding_dim=1024, **_BERT),
    "bert_xlarge": _albert(24, 32, 2048, embedding_dim=2048, **_BERT),
    # Sizes of this project: shipped models, quick start and tests. The initializer's
    # range is about 1 / sqrt(width): with 0.02, models as narrow as these need thousands
    # of steps before the sentence-order loss falls.
    "albert_nano_en": _albert(
        3, 4, 128, 8000, max_sequence_length=128, initializer_range=0.06
    ),
    "albert_mini_en": _albert(3, 4, 256, 8000, initializer_range=0.05),
    # Deep enough for exits. Not shipped; `tools/make_shipped_model.sh` trains it first.
    "albert_mini_12": _albert(12, 4, 256, 8000, initializer_range=0.05),
    "albert_quickstart": _albert(
        *(2, 4, 128, 800),
        embedding_dim=64,
        max_sequence_length=128,
        initializer_range=0.06,
    ),
    "albert_test": _albert(2, 3, 24, 61, embedding_dim=9, max_sequence_length=19),
}
