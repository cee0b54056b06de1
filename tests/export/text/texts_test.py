"""Tasks of long texts, written beside a model. exported_model_test.py predicts."""

import pytest

from albert_keras.export.text.texts import Texts
from albert_keras.tasks import (
    MultiLabelTask,
    TextClassificationTask,
    TextRegressionTask,
)


def test_tasks_by_what_is_stored():
    kind = Texts()
    assert type(kind.task(None, False)) is TextRegressionTask
    assert kind.task(["a", "b"], False) == TextClassificationTask(labels=("a", "b"))
    assert kind.task(["a", "b"], True) == MultiLabelTask(labels=("a", "b"))
    with pytest.raises(ValueError, match="`labels` must be a list"):
        kind.task("ab", False)


def test_beginnings_are_for_graphs_of_text():
    assert not Texts().reads(None)
    assert not Texts().reads(TextClassificationTask())
    assert Texts().reads(TextClassificationTask(long_texts="tail"))
