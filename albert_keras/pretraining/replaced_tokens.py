"""Pretraining task of replaced-token detection, on the data of masked words."""

import dataclasses

import numpy as np

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

    def make_dataset(self, source, batch_size, *, seed, shard=None, **options):
        """Returns endless batches for training; see `pretraining_dataset`.

        The seeds of the samples depend on `seed` and the step.
        """
        options |= {"seed": seed, "shard": shard}
        add = self._detection_of(batch_size, seed, shard)
        return super().make_dataset(source, batch_size, transform=add, **options)

    def make_validation_dataset(self, source, batch_size, *, shard=None, **options):
        """Returns batches of one pass, with the same seeds of the samples each time."""
        add = self._detection_of(batch_size, 0, shard)
        return super().make_validation_dataset(
            source, batch_size, shard=shard, transform=add, **options
        )

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

    def _detection_of(self, batch_size, seed, shard):
        """Returns a function that adds what detection needs to the batch of a step."""
        worker, num_workers = shard or (0, 1)
        size = batch_size // num_workers

        def add(step, batch):
            # Of the whole batch, so that it does not depend on the workers.
            random = np.random.default_rng([seed, step])
            seeds = random.integers(2**31, size=(batch_size, 2), dtype=np.int32)
            return _add_detection(batch, seeds[worker * size :], self.special_token_ids)

        return add


def _add_detection(batch, seeds, special_ids):
    """Adds the seeds of the samples, and targets and weights of the detection."""
    features, labels, weights = batch
    positions = features["mask_positions"]
    original_ids = _restore(features["token_ids"], positions, labels["mlm_logits"])
    # (batch, sequence_length)
    is_special = np.isin(original_ids, special_ids)
    is_real = features.get("sequence_ids", features["padding_mask"]) > 0
    # Rows that fill up the last batch of several workers have no weight at all.
    is_present = (weights["mlm_logits"] > 0).any(axis=1, keepdims=True)
    detected = is_real & ~is_special & is_present
    return (
        {**features, "sample_seeds": seeds[: len(positions)]},
        {**labels, "detection": original_ids},
        {**weights, "detection": detected.astype(np.float32)},
    )


def _restore(token_ids, positions, mask_ids):
    """Puts masked tokens back; an unused place has position 0, where `[CLS]` stays."""
    mask_ids = np.where(positions > 0, mask_ids, token_ids[:, :1])
    restored = token_ids.copy()
    np.put_along_axis(restored, positions, mask_ids, axis=1)
    return restored
