"""Pretraining as a task: masked pieces and sentence pairs from prepared data."""

import dataclasses

import keras

from albert_keras.models import AlbertPretrainer
from albert_keras.pretraining.datasets import (
    pretraining_dataset,
    pretraining_validation_dataset,
)
from albert_keras.train_step import ExactTrainStep


@dataclasses.dataclass(frozen=True)
class PretrainingTask:
    """Masked language modelling with sentence order, next sentence, or neither.

    Records may be packed, several examples in a row: the features say so, and losses and
    metrics then are means over the same pieces and pairs as of rows of one example.

    Args:
        sentence_pairs: bool. Whether the examples are of pairs to be classified.

    Reference: Lan et al. 2020, section 3.1.
    """

    sentence_pairs: bool = True

    def build_model(self, backbone):
        """Returns an `AlbertPretrainer`."""
        return AlbertPretrainer(backbone, 2 if self.sentence_pairs else 0)

    def make_dataset(
        self,
        source,
        batch_size,
        *,
        seed=None,
        start_step=0,
        config=None,
        shard=None,
    ):
        """Returns endless batches for training; see `pretraining_dataset`."""
        return pretraining_dataset(
            source,
            batch_size,
            sentence_pairs=self.sentence_pairs,
            seed=seed,
            start_step=start_step,
            config=config,
            shard=shard,
        )

    def make_validation_dataset(self, source, batch_size, *, shard=None):
        """Returns batches of one pass; see `pretraining_validation_dataset`."""
        return pretraining_validation_dataset(
            source, batch_size, sentence_pairs=self.sentence_pairs, shard=shard
        )

    def losses(self):
        """Returns cross-entropies of both outputs, weighted 1 : 1 as the original."""
        return {
            name: keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            for name in self._output_names()
        }

    def metrics(self):
        """Returns the accuracies of both outputs."""
        return {
            name: [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
            for name in self._output_names()
        }

    def evaluate(self, model, source, batch_size, *, shard=None):
        """Measures a model on record files, over tokens rather than batches.

        Args:
            model: `AlbertPretrainer`, compiled or not, which stays as it is.
            source: Records, see `pretraining_dataset`.
            batch_size: int.
            shard: Rows of this worker, see `pretraining_dataset`. The results are those
                of all workers together.

        Returns:
            Dict: `mlm_loss` (nats a masked piece), `mlm_accuracy`, and with pairs
            `sop_loss`, `sop_accuracy` and the half-width
            `sop_accuracy_95_margin` of the
            95 % interval (normal approximation); `num_examples`, `num_predictions`.
        """
        names = self._output_names()
        metrics = {
            name: [
                keras.metrics.SparseCategoricalCrossentropy("loss", from_logits=True),
                keras.metrics.SparseCategoricalAccuracy("accuracy"),
            ]
            for name in names
        }
        with model.strategy_scope():
            measured = _Measured(model)
            measured.compile(
                optimizer=None, loss=self.losses(), weighted_metrics=metrics
            )
        dataset = self.make_validation_dataset(source, batch_size, shard=shard)
        measured.evaluate(dataset, verbose=0)
        results = {
            f"{name.removesuffix('_logits')}_{metric.name}": float(metric.result())
            for name in names
            for metric in metrics[name]
        }
        results.update(_count_targets(self.make_validation_dataset(source, batch_size)))
        if self.sentence_pairs:
            rate = results["sop_accuracy"]
            deviation = (rate * (1 - rate) / results["num_examples"]) ** 0.5
            results["sop_accuracy_95_margin"] = 1.96 * deviation
        return results

    def _output_names(self):
        return ("mlm_logits", "sop_logits") if self.sentence_pairs else ("mlm_logits",)


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
        num_examples += _count_examples(features)
        num_predictions += int(weights["mlm_logits"].numpy().sum())
    return {"num_examples": num_examples, "num_predictions": num_predictions}


def _count_examples(features):
    if "sequence_ids" not in features:
        return len(features["token_ids"])
    # The examples of a packed row are numbered from 1.
    return int(features["sequence_ids"].numpy().max(axis=1).sum())
