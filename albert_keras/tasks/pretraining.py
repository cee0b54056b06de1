"""Pretraining as a task: masked pieces and sentence pairs from prepared data."""

import dataclasses

import keras
import numpy as np

from albert_keras.data import pretraining_dataset
from albert_keras.models import AlbertPretrainer
from albert_keras.tasks.base import Task


@dataclasses.dataclass(frozen=True)
class PretrainingTask(Task):
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

    def make_dataset(self, source, batch_size, *, seed=None, start_step=0, config=None):
        """Returns batches of record files or token ids; see `pretraining_dataset`."""
        return pretraining_dataset(
            source,
            batch_size,
            sentence_pairs=self.sentence_pairs,
            seed=seed,
            start_step=start_step,
            config=config,
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

    def evaluate(self, model, source, batch_size):
        """Measures a model on record files, over tokens rather than batches.

        Args:
            model: `AlbertPretrainer`; compiled anew here.
            source: Records, see `pretraining_dataset`.
            batch_size: int.

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
        model.compile(weighted_metrics=metrics, jit_compile=False)
        dataset = self.make_dataset(source, batch_size)
        model.evaluate(dataset, verbose=0)
        results = {
            f"{name.removesuffix('_logits')}_{metric.name}": float(metric.result())
            for name in names
            for metric in metrics[name]
        }
        results.update(_count_targets(dataset))
        if self.sentence_pairs:
            rate = results["sop_accuracy"]
            deviation = (rate * (1 - rate) / results["num_examples"]) ** 0.5
            results["sop_accuracy_95_margin"] = 1.96 * deviation
        return results

    def _output_names(self):
        return ("mlm_logits", "sop_logits") if self.sentence_pairs else ("mlm_logits",)


def unigram_loss(train_source, source, vocabulary_size):
    """Cross-entropy of predicting masked pieces by their frequency alone.

    What a model that uses no context at best reaches: a pretrained one must be well
    below.

    Args:
        train_source: Records that the frequencies are counted in, by add-one smoothing.
        source: Records whose masked pieces are predicted.
        vocabulary_size: int.

    Returns:
        float, nats a masked piece.
    """
    counts = _target_counts(train_source, vocabulary_size) + 1
    targets = _target_counts(source, vocabulary_size)
    log_probabilities = np.log(counts / counts.sum())
    return float(-(targets * log_probabilities).sum() / targets.sum())


def _target_counts(source, vocabulary_size):
    counts = np.zeros(vocabulary_size, np.int64)
    for _, labels, weights in pretraining_dataset(source, 256, sentence_pairs=False):
        targets = labels["mlm_logits"].numpy()[weights["mlm_logits"].numpy() > 0]
        counts += np.bincount(targets, minlength=vocabulary_size)
    return counts


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
