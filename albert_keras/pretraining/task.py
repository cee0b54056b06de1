"""Pretraining task: masked language modelling and sentence pairs on prepared data."""

import dataclasses

import keras
import numpy as np

from albert_keras.checks import check_choice
from albert_keras.models import AlbertPretrainer
from albert_keras.options import check_unused
from albert_keras.pretraining.datasets import (
    plain_errors,
    pretraining_dataset,
    pretraining_validation_dataset,
)
from albert_keras.pretraining.pairs import PAIR_CLASSES
from albert_keras.train_step import ExactTrainStep, HardestShare


@dataclasses.dataclass(frozen=True)
class PretrainingTask:
    """Masked language modelling, with or without classification of sentence pairs.

    With filled rows, losses and metrics are means over the same tokens and pairs as
    with rows of one pair.

    Args:
        sentence_pairs: str. The objective of the pairs, a key of `PAIR_CLASSES`; see
            `PairCutter`. Default `"sop"`.
        hardest_pairs: float in (0, 1]. Share of the pairs that are trained on, the
            hardest of each replica and micro-batch; see `HardestShare`. Default 1.

    Reference: Lan et al. 2020, section 3.1.
    """

    sentence_pairs: str = "sop"
    hardest_pairs: float = 1.0

    def __post_init__(self):
        check_choice("sentence_pairs", self.sentence_pairs, PAIR_CLASSES)
        if not self.num_pair_classes:
            given = {
                "hardest_pairs": self.hardest_pairs if self.hardest_pairs < 1 else None
            }
            check_unused(given, given, f"sentence_pairs={self.sentence_pairs}")

    @property
    def num_pair_classes(self):
        """Number of classes of sentence pairs, 0 if these are not classified."""
        return len(PAIR_CLASSES[self.sentence_pairs])

    def build_model(self, backbone):
        """Returns an `AlbertPretrainer` with the classes of the objective."""
        return AlbertPretrainer(backbone, self.num_pair_classes)

    def make_dataset(self, *source, **options):
        """Returns endless batches for training; see `pretraining_dataset`."""
        pairs = self.num_pair_classes > 0 and self.sentence_pairs
        return pretraining_dataset(*source, sentence_pairs=pairs, **options)

    def make_validation_dataset(self, *source, **options):
        """Returns batches of one pass; see `pretraining_validation_dataset`."""
        pairs = self.num_pair_classes > 0 and self.sentence_pairs
        return pretraining_validation_dataset(*source, sentence_pairs=pairs, **options)

    def losses(self):
        """Returns cross-entropies of both outputs, weighted 1 : 1 as in the original."""
        loss = keras.losses.SparseCategoricalCrossentropy
        losses = {name: loss(from_logits=True) for name in self._output_names()}
        if self.hardest_pairs < 1:
            pair_loss = losses["sop_logits"]
            losses["sop_logits"] = HardestShare(pair_loss, self.hardest_pairs)
        return losses

    def metrics(self):
        """Returns the accuracies of both outputs."""
        accuracy = keras.metrics.SparseCategoricalAccuracy
        return {name: [accuracy(name="accuracy")] for name in self._output_names()}

    def evaluate(self, model, source, batch_size, *, shard=None, config=None):
        """Evaluates a model, with means over tokens and pairs instead of batches.

        Args:
            model: `AlbertPretrainer`, compiled or not; it is not changed.
            source, batch_size, shard, config: As for `pretraining_validation_dataset`.
                The results are those of all workers together.

        Returns:
            Dict: `mlm_loss` (nats per masked token), `mlm_accuracy`; with pairs
            `sop_loss`, `sop_accuracy` and `sop_accuracy_95_margin`, the half-width of
            its 95 % interval (normal approximation); `num_examples`,
            `num_predictions`.
        """
        losses, wrapper = self.losses(), keras.metrics.MeanMetricWrapper
        metrics = {
            name: [wrapper(losses[name].call, name="loss"), *of_output]
            for name, of_output in self.metrics().items()
        }
        with model.strategy_scope():
            measured = _Measured(model)
            measured.compile(None, losses, weighted_metrics=metrics)
        given = source, batch_size
        with plain_errors():
            dataset = self.make_validation_dataset(*given, shard=shard, config=config)
            measured.evaluate(dataset, verbose=0)
        results = {
            f"{name.removesuffix('_logits')}_{metric.name}": float(metric.result())
            for name, of_output in metrics.items()
            for metric in of_output
        }
        whole = self.make_validation_dataset(*given, config=config)
        results.update(_count_targets(whole))
        if self.num_pair_classes:
            rate = results["sop_accuracy"]
            deviation = (rate * (1 - rate) / results["num_examples"]) ** 0.5
            results["sop_accuracy_95_margin"] = 1.96 * deviation
        return results

    def finished_model(self, model, tokenizer):
        """Returns what is kept of a trained model: all of it, ready for text."""
        length = model.backbone.max_sequence_length
        model.preprocessor = model.preprocessor_cls(tokenizer, sequence_length=length)
        return model

    def _output_names(self):
        return ["mlm_logits"] + ["sop_logits"] * (self.num_pair_classes > 0)


class _Measured(ExactTrainStep, keras.Model):
    """Another model's outputs, measured by losses and metrics of its own."""

    def __init__(self, model):
        super().__init__(name="measured")
        self.model = model

    def call(self, inputs, training=False):
        return self.model(inputs, training=training)


def _count_targets(dataset):
    num_examples = num_predictions = 0
    for features, _, weights in dataset:
        # The examples of a packed row are numbered from 1.
        numbers = features.get("sequence_ids", features["padding_mask"])
        num_examples += int(np.max(numbers, axis=1).sum())
        num_predictions += int(np.sum(weights["mlm_logits"]))
    return {"num_examples": num_examples, "num_predictions": num_predictions}
