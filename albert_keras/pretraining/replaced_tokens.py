"""Pretraining task of replaced-token detection, on the data of masked words."""

import dataclasses

import tensorflow as tf

from albert_keras.models.replaced_token_pretrainer import (
    AlbertReplacedTokenPretrainer,
    make_generator,
)
from albert_keras.pretraining.detection import DetectionCrossentropy, detection_metrics
from albert_keras.pretraining.task import PretrainingTask


@dataclasses.dataclass(frozen=True)
class ReplacedTokensTask(PretrainingTask):
    """Detection of the tokens that a generator replaced, and its masked words.

    Detection is over all tokens but special ones and padding. What is kept is the
    discriminator's backbone, which has no head for masked words: only what it is
    fine-tuned to can be compared with other recipes, not `generator_loss`.

    Args:
        special_token_ids: Tuple of ints. Ids of the tokens that are never replaced.
        detection_weight: float. See `AlbertReplacedTokenPretrainer`.
        generator_width, generator_layers: int or None. See `make_generator`.

    Reference: Clark et al. 2020, ELECTRA.
    """

    special_token_ids: tuple = ()
    detection_weight: float = 50.0
    generator_width: int | None = None
    generator_layers: int | None = None

    def build_model(self, backbone):
        """Returns an `AlbertReplacedTokenPretrainer` with a new generator."""
        generator = make_generator(
            backbone, self.generator_width, self.generator_layers
        )
        return AlbertReplacedTokenPretrainer(
            backbone, generator, self.num_pair_classes, self.detection_weight
        )

    def backbones(self, model):
        """Returns discriminator and generator, which grow together."""
        return [model.backbone, model.generator]

    def make_dataset(
        self, source, batch_size, *, seed, start_step=0, shard=None, **options
    ):
        """Returns endless batches for training; see `pretraining_dataset`.

        The seeds of the samples depend on `seed` and the step.
        """
        options |= {"seed": seed, "start_step": start_step, "shard": shard}
        batches = super().make_dataset(source, batch_size, **options)
        return self._with_detection(batches, batch_size, seed, start_step, shard)

    def make_validation_dataset(self, source, batch_size, *, shard=None):
        """Returns batches of one pass, with the same seeds of the samples each time."""
        batches = super().make_validation_dataset(source, batch_size, shard=shard)
        return self._with_detection(batches, batch_size, 0, 0, shard)

    def losses(self):
        """Returns the losses of the outputs, which the model weights."""
        return {**super().losses(), "detection": DetectionCrossentropy()}

    def metrics(self):
        """Returns accuracies, and of detection the replaced share and its recall."""
        return {**super().metrics(), "detection": detection_metrics()}

    def evaluate(self, model, source, batch_size, *, shard=None):
        """Evaluates a model; see `PretrainingTask.evaluate`.

        Returns:
            Dict: instead of `mlm_loss` and `mlm_accuracy` `generator_loss` and
            `generator_accuracy`; `detection_loss` (nats per token),
            `detection_accuracy`, `detection_replaced_share` (1 less is the accuracy of
            finding none) and `detection_recall`, of the replaced ones.
        """
        results = super().evaluate(model, source, batch_size, shard=shard)
        return {
            name.replace("mlm_", "generator_"): value for name, value in results.items()
        }

    def finished_model(self, model, tokenizer):
        """Returns the backbone of the discriminator."""
        return model.backbone

    def _with_detection(self, batches, batch_size, seed, start_step, shard):
        """Adds the seeds of the samples, and targets and weights of the detection."""
        worker, num_workers = shard or (0, 1)
        size = batch_size // num_workers
        rows = slice(worker * size, (worker + 1) * size)
        special_ids = tf.constant(self.special_token_ids, tf.int32)

        def add(step, batch):
            seeds = tf.random.stateless_uniform(
                (batch_size, 2),
                tf.stack([tf.cast(seed, tf.int64), step]),
                maxval=tf.int32.max,
                dtype=tf.int32,
            )
            return _add_detection(*batch, seeds[rows], special_ids)

        return tf.data.Dataset.zip(tf.data.Dataset.counter(start_step), batches).map(
            add
        )


def _add_detection(features, labels, weights, seeds, special_ids):
    positions = features["mask_positions"]
    original_ids = _restore(features["token_ids"], positions, labels["mlm_logits"])
    # (batch, sequence_length)
    is_special = tf.reduce_any(original_ids[..., tf.newaxis] == special_ids, axis=2)
    is_real = features.get("sequence_ids", features["padding_mask"]) > 0
    # Rows that fill up the last batch of several workers have no weight at all.
    is_present = tf.reduce_any(weights["mlm_logits"] > 0, axis=1, keepdims=True)
    detected = is_real & ~is_special & is_present
    seeds = tf.ensure_shape(seeds[: tf.shape(positions)[0]], (positions.shape[0], 2))
    return (
        {**features, "sample_seeds": seeds},
        {**labels, "detection": original_ids},
        {**weights, "detection": tf.cast(detected, tf.float32)},
    )


def _restore(token_ids, positions, mask_ids):
    """Puts masked tokens back; an unused place has position 0, where `[CLS]` stays."""
    mask_ids = tf.where(positions > 0, mask_ids, token_ids[:, :1])
    rows = tf.broadcast_to(
        tf.range(tf.shape(positions)[0])[:, tf.newaxis], tf.shape(positions)
    )
    # (batch, num_predictions, 2)
    indices = tf.stack([rows, positions], axis=2)
    return tf.tensor_scatter_nd_update(token_ids, indices, mask_ids)
