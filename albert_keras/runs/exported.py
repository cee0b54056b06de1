"""Exported models as the task that they were trained for."""

import dataclasses

from albert_keras.export import load_exported
from albert_keras.export.saved_model import is_saved_model
from albert_keras.runs.reporting import note
from albert_keras.runs.rows import with_reading
from albert_keras.tasks import PreparedRows, TextRegressionTask
from albert_keras.tasks.metrics import log_probabilities


def predict_exported(path, read, batch_size, reading):
    """Predicts with an exported model that takes text, or has its tokenizer beside it.

    A SavedModel is a program: a note says so.

    Args:
        path: str or path of the model.
        read: Function from the task to rows.
        batch_size: int. Texts of a batch.
        reading: `RowOptions`.

    Returns:
        Tuple of the task, `PreparedRows` and predictions, as a run has them, and exit
        depths or `None`. A model without names of its classes has their numbers as
        labels.

    Raises:
        ValueError: If the model is of another kind.
    """
    if is_saved_model(path):
        note("a SavedModel is a program that can write files: trust its source")
    exported = load_exported(path)
    task = with_reading(exported.task, reading, path)
    rows = read(task)
    predictions, depths = exported.run(rows, batch_size), None
    if isinstance(predictions, dict):
        depths = predictions.get("exit_depth")
        task, predictions = as_of_a_run(task, predictions, path)
    return task, PreparedRows(rows, None), predictions, depths


def as_of_a_run(task, outputs, path):
    """Returns the task with its labels, and the outputs as its model gives them."""
    logits, probabilities = outputs.get("logits"), outputs.get("probabilities")
    found = probabilities if logits is None else logits
    if found is None or found.ndim != 2:
        raise ValueError(
            "The model must be a classifier or a regression of texts. "
            f"Received: '{path}', which gives {', '.join(outputs)}."
        )
    if probabilities is None or found.shape[1] == 1:
        # A number, or the probability of the only class.
        return TextRegressionTask(columns=task.columns), found
    labels = task.labels or map(str, range(found.shape[1]))
    task = dataclasses.replace(task, labels=tuple(labels))
    if task.several_labels:
        return task, probabilities
    return task, log_probabilities(probabilities) if logits is None else logits
