"""The base class of tasks: batches, recipes, samples, and a new kind of task."""

import dataclasses
import pathlib

import keras
import numpy as np
import pytest

from albert_keras.models import AlbertTextClassifier
from albert_keras.options import option
from albert_keras.preprocessors.texts import pack_texts
from albert_keras.tasks import FinetuningTask, Recipe, TextClassificationTask
from albert_keras.tasks.finetuning import PreparedRows
from albert_keras.tasks.metrics import score
from albert_keras.tasks.reading import as_columns, as_rows
from albert_keras.tasks.text_classification.reading import LabelledTexts
from tests.tasks.task_checks import run_task_test, with_length

ROWS = LabelledTexts(
    ["good bread " * n for n in (1, 2, 3, 9, 12, 14)], ["0", "1", "0", "1", "0", "1"]
)


@dataclasses.dataclass(frozen=True)
class QuestionMarkTask(FinetuningTask):
    """A kind of task with as few methods as possible: is a line a question?"""

    mark: str = option("last character of a question", "?")

    def read(self, source, *, needs_labels=True):
        texts = pathlib.Path(source).read_text("utf-8").splitlines()
        labels = [int(text.endswith(self.mark)) for text in texts]
        return LabelledTexts([text.rstrip(self.mark) for text in texts], labels)

    def prepare(self, rows, *, training=False):
        options = self.packing_options()
        examples = pack_texts(self.tokenizer.encoder, rows.texts, **options)
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
        return as_rows({"text": prepared.rows.texts, "label": [*map(str, labels)]})

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
    task = with_length(TextClassificationTask()).for_run(ROWS, tokenizer)
    prepared = task.prepare(ROWS)
    longest = prepared.examples.lengths[5]
    assert (prepared.examples.lengths[:5] < longest).all()

    class DivergedModel:
        """Gives NaN for the longest row."""

        def __call__(self, features, training=False):
            lengths = keras.ops.sum(features["padding_mask"], axis=1, keepdims=True)
            return keras.ops.where(lengths == longest, np.nan, 0.0)

    with pytest.raises(ValueError, match="NaN or infinity in 1 of 6 rows, first 5"):
        task.predict(DivergedModel(), prepared, 2)


# === Numbers of steps of recipes ===


@pytest.mark.parametrize(
    ("recipe", "num_examples", "steps"),
    [
        (Recipe(batch_size=7, num_epochs=5), 140, (100, 6)),
        (Recipe(num_steps=50, warmup_steps=9), 10**6, (50, 9)),
        (Recipe(), 3, (1, 0)),
    ],
)
def test_steps_of_a_recipe(recipe, num_examples, steps):
    assert recipe.steps_for(num_examples) == steps


# === Samples ===


def test_samples_are_tuples_or_dicts_by_name():
    names = (("question",), ("context", "article"))
    samples = [("a", "b"), ["c", "d"], {"article": "f", "question": "e", "id": 1}]
    expected = [["a", "c", "e"], ["b", "d", "f"]]
    assert as_columns(samples, *names) == expected
    assert as_columns(["a", "b"], *names) == [["a"], ["b"]]
    assert as_columns(np.array(expected).T, *names) == expected
    assert as_columns(["ab", {"article": "c"}, ["d"]], names[1]) == [["ab", "c", ["d"]]]
    message = "no other keys than question, context, article, id, .*'contexts', 3"
    with pytest.raises(ValueError, match=message):
        as_columns([{**samples[2], "contexts": "g", 3: "h"}], *names)


@pytest.mark.parametrize(
    ("samples", "received"),
    [
        (["ab", ("c", "d")], "'ab'"),
        ([("a", None)], "'a', None"),
        ([{"question": "a"}], "{'question': 'a'}"),
        ((["a", "b"], ["c", "d"]), "a tuple of lists. Pass `list"),
        ([], "samples="),
    ],
)
def test_other_samples_are_refused(samples, received):
    with pytest.raises(ValueError, match=f"Received: .?{received}"):
        as_columns(samples, ("question",), ("context",))
