"""Long texts of classifiers of ids: their ends, their windows, their answers."""

from albert_keras.checks import check_json
from albert_keras.tasks import (
    MultiLabelTask,
    TextClassificationTask,
    TextRegressionTask,
)
from albert_keras.tasks.text_classification.task import TextTask


class Texts:
    """Labels or scores of texts that are not cut at their beginnings.

    A graph of text keeps the first tokens; a model of ids gets those that the task
    keeps, or windows whose outputs the task averages.
    """

    task_class = TextTask
    stored = {"labels": None, "several_labels": bool}  # noqa: RUF012
    # Fields by which a model of ids gets them.
    ids = {"sequence_length": int, "long_texts": str}  # noqa: RUF012

    def reads(self, task):
        """Returns whether a task, or `None`, is of such texts."""
        return isinstance(task, TextTask) and task.long_texts != "head"

    def task(self, labels, several_labels):
        """Returns the task of answers, without a tokenizer."""
        if labels is None:
            return TextRegressionTask()
        check_json({"labels": labels}, {"labels": [str]}, "served_task.json")
        kind = MultiLabelTask if several_labels else TextClassificationTask
        return kind(labels=tuple(labels))
