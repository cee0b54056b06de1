"""Exported models as the task that they were trained for."""

import dataclasses

import numpy as np

from albert_keras.export import load_exported
from albert_keras.export.signatures import TEXT_INPUTS
from albert_keras.tasks import (
    MultiLabelTask,
    PreparedRows,
    TextClassificationTask,
    TextRegressionTask,
)


def predict_exported(path, read, batch_size, reading):
    """Predicts with a SavedModel or a TFLite file of a classifier or a regression.

    Args:
        path: str or path of the model.
        read: Function from the task to rows.
        batch_size: int. Texts of a batch.
        reading: `RowOptions`.

    Returns:
        Tuple of the task, `PreparedRows` and predictions, as a run has them. A model
        without names of its classes has their numbers as labels.

    Raises:
        ValueError: If the model is of another kind, or `reading` lacks the column of the
            second text that it needs.
    """
    predictor = load_exported(path)
    task = MultiLabelTask() if predictor.several_hold else TextClassificationTask()
    if predictor.takes_pairs:
        task = task.with_columns(pair=TEXT_INPUTS[1])
    task = task.with_columns(**reading.given_columns())
    if bool(task.columns.pair) != predictor.takes_pairs:
        raise ValueError(
            "The column of a second text is for models of pairs. "
            f"Received: pair_column={task.columns.pair!r} for '{path}', which takes "
            "single texts."
        )
    rows = read(dataclasses.replace(task, decoding=reading.decoding))
    outputs = predictor.predict(task.text_keys(rows), batch_size=batch_size)
    task, predictions = as_of_a_run(task, predictor.labels, outputs, path)
    return task, PreparedRows(rows, None), predictions


def as_of_a_run(task, labels, outputs, path):
    """Returns the task with its labels, and the outputs as its model gives them."""
    logits, probabilities = outputs.get("logits"), outputs.get("probabilities")
    if task.several_labels:
        logits = probabilities
    elif logits is None and probabilities is not None:
        # Of a softmax layer, up to a constant.
        logits = np.log(np.maximum(probabilities, np.finfo(np.float32).tiny))
    if logits is None or logits.ndim != 2:
        raise ValueError(
            "The model must be a classifier or a regression of texts. "
            f"Received: '{path}', which gives {', '.join(outputs)}."
        )
    if probabilities is None:
        return TextRegressionTask(columns=task.columns), logits
    labels = labels or map(str, range(logits.shape[1]))
    return dataclasses.replace(task, labels=tuple(labels)), logits
