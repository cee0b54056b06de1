"""Exported models as the task that they were trained for."""

import dataclasses

from albert_keras.export import load_exported
from albert_keras.export.saved_model import is_saved_model
from albert_keras.export.signatures import TEXT_INPUTS
from albert_keras.runs.reporting import note
from albert_keras.runs.rows import with_reading
from albert_keras.tasks import (
    MultiLabelTask,
    PreparedRows,
    TextClassificationTask,
    TextRegressionTask,
)
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
    predictor = load_exported(path)
    if predictor.description is not None:
        return _answer(predictor, path, read, batch_size, reading)
    return _predict(predictor, path, read, batch_size, reading)


def _answer(predictor, path, read, batch_size, reading):
    """Predicts with a `TaskPredictor` or an `IdsPredictor`."""
    task = with_reading(predictor.task, reading, path)
    rows = read(task)
    predictions = predictor.predict_rows(rows, batch_size)
    return task, PreparedRows(rows, None), predictions, None


def _predict(predictor, path, read, batch_size, reading):
    task = MultiLabelTask() if predictor.several_hold else TextClassificationTask()
    takes = {"pair": predictor.takes_pairs, "optional_pair": predictor.takes_both}
    columns = {name: TEXT_INPUTS[1] for name in takes if takes[name]}
    task = task.with_columns(**columns).with_columns(**reading.given_columns())
    rows = read(dataclasses.replace(task, decoding=reading.decoding))
    outputs = predictor.predict(task.text_keys(rows), batch_size=batch_size)
    task, predictions = as_of_a_run(task, predictor.labels, outputs, path)
    return task, PreparedRows(rows, None), predictions, outputs.get("exit_depth")


def as_of_a_run(task, labels, outputs, path):
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
    labels = labels or map(str, range(found.shape[1]))
    task = dataclasses.replace(task, labels=tuple(labels))
    if task.several_labels:
        return task, probabilities
    return task, log_probabilities(probabilities) if logits is None else logits
