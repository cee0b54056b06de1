"""Linear probes of sentence pairs: what the pooled output knows of two segments."""

import dataclasses
import itertools

import numpy as np

from albert_keras.analysis.probe import probe_accuracy
from albert_keras.pretraining import (
    PretrainingDataConfig,
    pretraining_validation_dataset,
    read_description,
)

NUM_TRAIN, NUM_HELD_OUT = 10_000, 2_000
_BATCH_SIZE = 64


def probe_sentence_pairs(
    backbone,
    data,
    held_out,
    objective,
    num_train=NUM_TRAIN,
    num_held_out=NUM_HELD_OUT,
):
    """Measures a logistic regression on the frozen pooled output of sentence pairs.

    So models of different sentence tasks, and of none, are scored in one way, whatever
    heads they have. The paper does not state how it scored a model on a task that it was
    not trained with. Inputs are masked as in training. A model of masked words alone has
    the pooler that it began with, since only the sentence task trains it.

    Args:
        backbone: `AlbertBackbone`.
        data: str or path. Token store whose pairs the probe is trained on.
        held_out: str or path. Token store of other documents, to measure on.
        objective: str. Task of the pairs, `"nsp"`, `"sop"` or another of `PairCutter`.
        num_train: int. Pairs to train on, the first ones.
        num_held_out: int. Pairs to measure on, the first ones.

    Returns:
        Dict: `accuracy`, `majority_accuracy` of the most frequent label of the held-out
        pairs, `num_train` and `num_held_out`.

    Raises:
        ValueError: If the data are no token store, or the documents give no pair.

    Reference: Lan et al. 2020, section 4.6 and table 5.
    """
    train, train_labels = _pooled_pairs(backbone, data, objective, num_train)
    test, labels = _pooled_pairs(backbone, held_out, objective, num_held_out)
    return {
        "accuracy": probe_accuracy(train, train_labels, test, labels),
        "majority_accuracy": float(np.bincount(labels).max() / len(labels)),
        "num_train": len(train_labels),
        "num_held_out": len(labels),
    }


def _pooled_pairs(backbone, source, objective, num_pairs):
    """Returns the pooled output `(num_pairs, hidden_dim)` and labels of pairs."""
    from keras import tree

    from albert_keras.train_step import infer

    description = read_description(source) or {}
    if description.get("kind") != "tokens":
        raise ValueError(
            "Sentence pairs are drawn from a token store. Received: "
            f"'{source}'. Prepare the text with --dynamic."
        )
    config = PretrainingDataConfig.from_dict(description["config"])
    dataset = pretraining_validation_dataset(
        source,
        _BATCH_SIZE,
        sentence_pairs=objective,
        config=dataclasses.replace(config, sentence_pairs=objective),
    )
    rows, labels = [], []
    for batch in itertools.islice(dataset, -(-num_pairs // _BATCH_SIZE)):
        features, targets, _ = tree.map_structure(np.asarray, batch)
        names = ("token_ids", "segment_ids", "padding_mask")
        inputs = {name: features[name] for name in names}
        rows.append(infer(backbone, inputs)["pooled_output"])
        labels.append(targets["sop_logits"])
    if not rows:
        raise ValueError(
            f"The documents must give a pair of {objective}. Received: none of "
            f"'{source}'. Take longer rows, or documents of more sentences."
        )
    return np.concatenate(rows)[:num_pairs], np.concatenate(labels)[:num_pairs]
