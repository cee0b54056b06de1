"""Pretraining task: masked language modelling and sentence pairs on prepared data."""

import dataclasses

import keras
import numpy as np

from albert_keras.checks import check_choice
from albert_keras.models import AlbertPretrainer
from albert_keras.options import check_unused
from albert_keras.pretraining import datasets
from albert_keras.pretraining.pairs import PAIR_CLASSES
from albert_keras.train_step import ExactTrainStep, HardestShare


@dataclasses.dataclass(frozen=True)
class PretrainingTask:
    """Masked language modelling, with or without classification of sentence pairs.

    Losses and metrics are means over tokens and pairs, also with filled rows.

    Args:
        sentence_pairs: str. Objective of the pairs, a key of `PAIR_CLASSES`; see
            `PairCutter`. Default `"sop"`.
        hardest_pairs: float in (0, 1]. Share of the pairs with the largest losses that
            are used for training, in each replica and micro-batch; see `HardestShare`.
            Default 1.

    Reference: Lan et al. 2020, section 3.1.
    """

    sentence_pairs: str = "sop"
    hardest_pairs: float = 1.0

    def __post_init__(self):
        check_choice("sentence_pairs", self.sentence_pairs, PAIR_CLASSES)
        if not self.num_pair_classes and self.hardest_pairs < 1:
            use = f"sentence_pairs={self.sentence_pairs}"
            check_unused(vars(self), ["hardest_pairs"], use)

    @property
    def num_pair_classes(self):
        """Number of classes of sentence pairs; 0 if pairs are not classified."""
        return len(PAIR_CLASSES[self.sentence_pairs])

    def build_model(self, backbone):
        """Returns an `AlbertPretrainer` with the classes of the objective."""
        return AlbertPretrainer(backbone, self.num_pair_classes)

    def make_dataset(self, *source, **options):
        """Returns endless batches for training; see `pretraining_dataset`."""
        return datasets.pretraining_dataset(*source, **self._pairs(), **options)

    def make_validation_dataset(self, *source, **options):
        """Returns batches of one epoch; see `pretraining_validation_dataset`."""
        options |= self._pairs()
        return datasets.pretraining_validation_dataset(*source, **options)

    def _pairs(self):
        return {"sentence_pairs": self.num_pair_classes > 0 and self.sentence_pairs}

    def losses(self):
        """Returns cross-entropies of both outputs, with weights 1 as in the original."""
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
        """Evaluates a model, with means over all tokens and pairs.

        Args:
            model: `AlbertPretrainer`, compiled or not. It is not changed.
            source, batch_size, shard, config: As for `pretraining_validation_dataset`.
                The results cover all workers.

        Returns:
            Dict: `mlm_loss` (nats per masked token) and `mlm_accuracy`; with pairs also
            `sop_loss`, `sop_accuracy` and `sop_accuracy_95_margin`, half the width of its
            95 % interval (normal approximation); `num_examples` and `num_predictions`.
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
        with datasets.plain_errors():
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
        """Returns the model to save: the whole model, with a preprocessor for text."""
        length = model.backbone.max_sequence_length
        model.preprocessor = model.preprocessor_cls(tokenizer, sequence_length=length)
        return model

    def _output_names(self):
        return ["mlm_logits"] + ["sop_logits"] * (self.num_pair_classes > 0)


class _Measured(ExactTrainStep, keras.Model):
    """The outputs of another model, with losses and metrics of its own."""

    def __init__(self, model):
        super().__init__(name="measured")
        self.model = model

    def call(self, inputs, training=False):
        return self.model(inputs, training=training)


def _count_targets(dataset):
    num_examples = num_predictions = 0
    for features, _, weights in dataset:
        # The pairs of a filled row are numbered from 1.
        numbers = features.get("sequence_ids", features["padding_mask"])
        num_examples += int(np.max(numbers, axis=1).sum())
        num_predictions += int(np.sum(weights["mlm_logits"]))
    return {"num_examples": num_examples, "num_predictions": num_predictions}
