"""Pretraining model of replaced-token detection: a small generator, a discriminator."""

import dataclasses

import keras
from keras import ops

from albert_keras.layers import MaskedLMHead, ReplacedTokenHead
from albert_keras.layers.positions import put_tokens, take_tokens
from albert_keras.layers.sampling import sample_pieces
from albert_keras.models.backbone import AlbertBackbone
from albert_keras.models.pretrainer import make_pair_head
from albert_keras.models.task import SkipsIdlePooler
from albert_keras.train_step import ExactTrainStep

MIN_GENERATOR_WIDTH = 64


def make_generator(backbone, hidden_dim=None, num_layers=None):
    """Returns a narrower backbone with the embedding tables of another one.

    Its shape is that of `AlbertConfig.with_width`. Encoder weights are not shared: that
    costs accuracy in small models (github.com/shoarora/lmtuners, `disc_lm_small`).

    Args:
        backbone: `AlbertBackbone`, the discriminator.
        hidden_dim: int, or `None` for a quarter of the discriminator's, but at least 64
            and at most all of it.
        num_layers: int, or `None` for as many as the discriminator has.

    Reference: Clark et al. 2020, ELECTRA, section 3.2.
    """
    config = backbone.albert_config
    if hidden_dim is None:
        hidden_dim = max(config.hidden_dim // 4, MIN_GENERATOR_WIDTH)
        hidden_dim = min(hidden_dim, config.hidden_dim)
    config = dataclasses.replace(
        config.with_width(hidden_dim), num_layers=num_layers or config.num_layers
    )
    return AlbertBackbone(
        **config.to_dict(),
        tied_to=backbone,
        dtype=backbone.dtype_policy,
        name="generator",
    )


class AlbertReplacedTokenPretrainer(SkipsIdlePooler, ExactTrainStep, keras.Model):
    """Discriminator that tells real tokens from those that a generator sampled.

    The generator predicts masked words, a piece is sampled from each prediction and takes
    the place of the mask, and the discriminator says of every token whether it is another
    one than in the original text. A sampled piece that equals the original counts as
    original. The model is for training alone, and what is trained is `backbone`, an
    ordinary `AlbertBackbone`.

    Args:
        backbone: `AlbertBackbone`, the discriminator.
        generator: `AlbertBackbone` with the tables of `backbone`; see `make_generator`.
            As in ELECTRA they are tied, for tokens, positions and segments, with the
            normalization of their sum, and learn from both losses.
        num_pair_classes: int. Classes of a sentence-pair head on the discriminator's
            pooled output. Default 0: there is no such head.
        detection_weight: float. Weight of the detection loss where the others have 1.
            Default 50, as ELECTRA.

    Input shape:
        Dict of the features of `AlbertPretrainer`, also of packed rows, and
        `sample_seeds`, int32 of at least 0, `(batch, 2)`: the seed of each row's samples.
        A masked position of 0 marks an unused place.

    Output shape:
        Dict of float32: the generator's `mlm_logits` `(batch, num_predictions,
        vocabulary_size)`; `detection` `(batch, sequence_length, 2)`, for each token the
        logit of "replaced" and the piece that the discriminator read; with a pair head
        `sop_logits`, as of `AlbertPretrainer`.

    Raises:
        ValueError: If the generator has a token table of its own.

    Reference: Clark et al. 2020, ELECTRA; google-research/electra run_pretraining.py. It
    differs in the masked positions that keep their token or get a random one (10 % each,
    there 15 % and none), which are sampled anew too, and in special tokens, which
    `ReplacedTokensTask` leaves out of the loss.
    """

    def __init__(
        self, backbone, generator, num_pair_classes=0, detection_weight=50.0, **kwargs
    ):
        super().__init__(**kwargs)
        if generator.token_embedding is not backbone.token_embedding:
            raise ValueError(
                "The generator must share the token table of the discriminator. "
                f"Received: '{generator.name}' with its own. Use `make_generator`."
            )
        config, dtype = backbone.albert_config, backbone.dtype_policy
        self.backbone = backbone
        self.generator = generator
        self.generator.pooler.trainable = False
        self.mlm_head = MaskedLMHead(
            generator.albert_config,
            generator.token_embedding,
            dtype=dtype,
            name="generator_mlm",
        )
        self.detection_head = ReplacedTokenHead(config, dtype=dtype, name="detection")
        self.pair_head = make_pair_head(backbone, num_pair_classes)
        self.detection_weight = detection_weight

        self.mlm_head.build((None, None, generator.hidden_dim))
        self.detection_head.build((None, None, config.hidden_dim))
        if self.pair_head is not None:
            self.pair_head.build((None, config.hidden_dim))
        self.built = True

    @property
    def reads_pooled_output(self):
        return self.pair_head is not None

    def compile(self, optimizer="rmsprop", loss=None, **kwargs):
        """Compiles for training; losses are weighted by `detection_weight` by default.

        Args:
            optimizer, loss, **kwargs: See `ExactTrainStep.compile`.
        """
        if loss is not None:
            weights = dict.fromkeys(loss, 1.0) | {"detection": self.detection_weight}
            kwargs.setdefault("loss_weights", weights)
        super().compile(optimizer, loss, **kwargs)

    def call(self, inputs, training=False):
        positions = inputs["mask_positions"]
        x = _encode(self.generator, inputs, training)
        mlm_logits = self.mlm_head(x, positions, training=training)
        sampled = sample_pieces(mlm_logits, inputs["sample_seeds"])
        token_ids = put_tokens(inputs["token_ids"], positions, sampled)
        # (batch, sequence_length, hidden_dim)
        x = _encode(self.backbone, {**inputs, "token_ids": token_ids}, training)
        logits = self.detection_head(x, training=training)
        # Floats are exact to 2^24, the largest vocabulary.
        detection = ops.stack([logits, ops.cast(token_ids, logits.dtype)], axis=2)
        outputs = {"mlm_logits": mlm_logits, "detection": detection}
        if self.pair_head is not None:
            # (batch, hidden_dim), or of packed rows (batch, max_pairs, hidden_dim)
            first_tokens = x[:, 0]
            if "pair_positions" in inputs:
                first_tokens = take_tokens(x, inputs["pair_positions"])
            outputs["sop_logits"] = self.pair_head(self.backbone.pooler(first_tokens))
        return outputs


def _encode(backbone, inputs, training):
    if "sequence_ids" in inputs:
        return backbone.encode_packed(inputs, training=training)
    inputs = {name: inputs[name] for name in backbone.input}
    return backbone(inputs, training=training)["sequence_output"]
