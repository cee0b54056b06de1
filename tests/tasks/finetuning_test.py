"""The base class of tasks: batches, defaults, and a new kind of task."""

import dataclasses
import pathlib
from typing import NamedTuple

import keras
import numpy as np
import pytest

from albert_keras.models import AlbertTextClassifier
from albert_keras.options import option
from albert_keras.preprocessors.texts import pack_texts
from albert_keras.tasks import TASKS, FinetuningTask, Recipe, TextClassificationTask
from albert_keras.tasks.finetuning import PreparedRows
from albert_keras.tasks.metrics import score
from albert_keras.tasks.text_classification import LabelledTexts
from tests.tasks.task_checks import run_task_test

ROWS = LabelledTexts(
    ["good bread " * n for n in (1, 2, 3, 9, 12, 14)], ["0", "1", "0", "1", "0", "1"]
)


def make_task(tokenizer):
    task = TextClassificationTask(recipe=Recipe(sequence_length=53))
    return task.for_run(ROWS, tokenizer)


def test_batches_by_length_hold_the_same_rows_as_padded_ones(tokenizer):
    task = make_task(tokenizer)
    prepared = task.prepare(ROWS)
    by_length = task.make_dataset(prepared, 2, seed=4)
    shapes = {tuple(x["token_ids"].shape) for x, _ in by_length.take(30)}
    assert len({length for _, length in shapes}) > 1
    padded = task.make_dataset(prepared, 2, seed=4, by_length=False)
    assert padded.element_spec[0]["token_ids"].shape == (2, 53)
    texts = [seen(dataset.take(60)) for dataset in (by_length, padded)]
    assert texts[0] == texts[1]
    assert len(texts[0]) == 6


def seen(dataset):
    """Returns the set of the batches' rows, without padding."""
    rows = set()
    for features, labels in dataset:
        for ids, mask, label in zip(
            features["token_ids"].numpy(),
            features["padding_mask"].numpy(),
            labels.numpy(),
            strict=True,
        ):
            rows.add((tuple(ids[mask == 1].tolist()), int(label)))
    return rows


def test_outputs_have_the_numbers_of_their_rows(tokenizer):
    task = make_task(tokenizer)
    examples = task.prepare(ROWS).examples

    class LengthModel:
        """Gives each row's number of tokens."""

        def __call__(self, features, training=False):
            return features["padding_mask"]

    rows, outputs = zip(*task.outputs(LengthModel(), examples, 2), strict=True)
    assert sorted(np.concatenate(rows)) == [*range(6)]
    for row, output in zip(rows, outputs, strict=True):
        assert np.array_equal(output.sum(-1), examples.lengths[row])


class Lines(NamedTuple):
    """Texts and their labels, in columns."""

    texts: list
    labels: list | None


@dataclasses.dataclass(frozen=True)
class QuestionMarkTask(FinetuningTask):
    """A kind of task with as few methods as possible: is a line a question?"""

    mark: str = option("last character of a question", "?")

    def read(self, source, *, needs_labels=True):
        texts = pathlib.Path(source).read_text("utf-8").splitlines()
        labels = [int(text.endswith(self.mark)) for text in texts]
        return Lines([text.rstrip(self.mark) for text in texts], labels)

    def prepare(self, rows, *, training=False):
        examples = pack_texts(
            self.tokenizer.encoder,
            rows.texts,
            sequence_length=self.recipe.sequence_length,
        )
        if rows.labels is not None:
            examples = examples.with_arrays(labels=np.array(rows.labels, np.int32))
        return PreparedRows(rows, examples)

    def build_model(self, backbone):
        return AlbertTextClassifier(backbone, num_classes=2)

    def score(self, prepared, predictions):
        targets = np.array(prepared.rows.labels)
        scores = score(("accuracy",), targets, predictions)
        return {**scores, "num_examples": len(targets)}

    def describe(self, prepared, predictions):
        labels = predictions.argmax(-1).tolist()
        return [
            {"text": text, "label": str(label)}
            for text, label in zip(prepared.rows.texts, labels, strict=True)
        ]

    def rows_of(self, samples):
        return LabelledTexts(samples, None)


@pytest.mark.slow
def test_a_new_kind_of_task_is_six_methods(tokenizer, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text(
        "the soup was good\nwas the river long?\na walk\nwho sang?\nbread\n"
    )
    task = QuestionMarkTask()
    rows = task.read(path)
    task, prepared, _, predictions = run_task_test(task, rows, tokenizer, tmp_path)
    labels = [row["label"] for row in task.describe(prepared, predictions)]
    assert labels == ["0", "1", "0", "1", "0"]
    assert task.text_keys(rows) == rows.texts
    entropy = -(0.4 * np.log(0.4) + 0.6 * np.log(0.6))
    assert task.prior_loss(prepared) == pytest.approx(entropy)
    assert task.fitted(prepared, predictions) is task
    assert task.prepare(task.rows_of(["why"])).examples.num_examples == 1
    assert not task.has_submission(tmp_path / "answers.json")


def test_outputs_that_are_not_finite_are_refused(tokenizer):
    task = make_task(tokenizer)
    prepared = task.prepare(ROWS)
    longest = prepared.examples.lengths[5]
    assert (prepared.examples.lengths[:5] < longest).all()

    class DivergedModel:
        """Gives NaN for the longest row."""

        def __call__(self, features, training=False):
            lengths = keras.ops.sum(features["padding_mask"], axis=1, keepdims=True)
            return keras.ops.where(lengths == longest, np.nan, 0.0)

    with pytest.raises(ValueError, match="NaN in 1 of 6 rows, first 5"):
        task.predict(DivergedModel(), prepared, 2)


@pytest.mark.parametrize("name", TASKS)
def test_tasks_have_files_and_options_with_help(name):
    task = TASKS[name]
    assert "train" in task.files or name == "ax"
    assert task.recipe.steps_for(10_000)[0] > task.recipe.steps_for(10_000)[1] > 0
    options = [f for f in dataclasses.fields(task) if "help" in f.metadata]
    assert options
    for field in options:
        assert field.metadata["help"]
        choices = field.metadata["choices"]
        value = getattr(task, field.name)
        assert choices is None or value is None or value in choices, field.name
