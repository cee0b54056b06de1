"""What tasks on texts share: long texts, columns, predictions on strings."""

import dataclasses

import numpy as np
import pytest

from albert_keras.tasks import TextClassificationTask
from albert_keras.tasks.text_classification import Columns, LabelledTexts
from tests.tasks.task_checks import make_backbone
from tests.tasks.text_classification.labelled_rows import ROWS, TEXTS, recipe


def test_windows_of_a_long_text_are_averaged(tokenizer):
    long = " ".join(TEXTS) * 3
    task = recipe(TextClassificationTask(long_texts="windows"))
    task = task.for_run(ROWS, tokenizer)
    model = task.build_model(make_backbone())
    rows = LabelledTexts([TEXTS[0], long, TEXTS[2]], ["good", "bad", "river"])
    prepared = task.prepare(rows, training=True)
    assert prepared.examples.num_examples == len(prepared.details) > 5
    assert set(prepared.details) == {0, 1, 2}
    labels = prepared.examples.example_arrays["labels"]
    assert labels.tolist() == [
        {0: 1, 1: 0, 2: 2}[row] for row in prepared.details.tolist()
    ]
    logits = task.predict(model, prepared, 2)
    alone = np.concatenate([x for _, x in task.outputs(model, prepared.examples, 50)])
    order = np.concatenate([r for r, _ in task.outputs(model, prepared.examples, 50)])
    windows = alone[np.argsort(order)][prepared.details == 1]
    np.testing.assert_allclose(logits[1], windows.mean(axis=0), atol=1e-5)
    assert task.score(prepared, logits)["num_examples"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"long_texts": "middle"}, "one of head, tail, .* Received: .*'middle'"),
        (
            {"long_texts": "tail", "columns": Columns(pair="b")},
            "single texts. Received: long_texts='tail'",
        ),
        (
            {"columns": Columns(label_separator=";")},
            "several labels a row.* Received: label_separator=';'",
        ),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        TextClassificationTask(**options)


def test_predictions_on_strings_equal_those_on_prepared_rows(tokenizer):
    task = recipe(TextClassificationTask()).for_run(ROWS, tokenizer)
    model = task.servable(task.build_model(make_backbone()))
    texts = [*TEXTS, " ".join(TEXTS) * 2]
    prepared = task.prepare(LabelledTexts(texts, None))
    expected = task.predict(model, prepared, 3)
    np.testing.assert_allclose(model.predict(texts, verbose=0), expected, atol=2e-5)
    windows = dataclasses.replace(task, long_texts="windows")
    assert windows.servable(task.build_model(make_backbone())).preprocessor is None


def test_other_columns_keep_the_rest():
    own = Columns("a", "b", header=("x",), skips_broken=True)
    task = TextClassificationTask(columns=own, tfds_columns=Columns("d"))
    task = task.with_columns(label="c", pair="e")
    expected = Columns("a", "c", "e", header=("x",), skips_broken=True)
    assert (task.columns, task.tfds_columns) == (expected, Columns("d", "c", "e"))
