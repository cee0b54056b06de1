"""Multiple choice as a task: RACE's levels, letters, and its recipe."""

import json

import numpy as np
import pytest

from albert_keras.preprocessors.choices import ChoiceQuestions
from albert_keras.runs.predictions import mistakes_of
from albert_keras.tasks import TASKS, MultipleChoiceTask
from albert_keras.tasks.finetuning import PreparedRows
from tests.tasks.task_checks import run_task_test

ROWS = ChoiceQuestions(
    articles=["the boat went down the river", "the soup was good"] * 2 + [""],
    questions=["where did it go", "the _ was good", "what went", "how was it", "why"],
    options=[
        ["to the sea", "up", "home"],
        ["bread", "soup", "film"],
        ["a walk", "a dog", "the boat"],
        ["good", "bad", "cold"],
        ["no", "yes", "so"],
    ],
    answers=[0, 1, 2, 0, 1],
    groups=["middle", "high", "middle", "middle", ""],
)


@pytest.mark.slow
def test_questions_are_answered(tokenizer, tmp_path):
    task, prepared, _, scores = run_task_test(
        MultipleChoiceTask(), ROWS, tokenizer, tmp_path
    )
    wrong = scores.copy()
    wrong[2] = -wrong[2]
    results = task.score(prepared, wrong)
    assert results["middle_accuracy"] == pytest.approx(2 / 3)
    assert results["high_accuracy"] == 1.0
    (mistake,) = mistakes_of(task, prepared, wrong)
    assert (mistake["label"], mistake["text"]) == ("C", ROWS.questions[2])
    assert mistake["prediction"] in "AB"
    assert results["majority_accuracy"] == pytest.approx(2 / 5)
    assert [row["label"] for row in task.describe(prepared, scores)] == [*"ABCAB"]
    task.write_submission(tmp_path / "answers.json", prepared, scores)
    content = json.loads((tmp_path / "answers.json").read_text())
    assert content == {"answers": [*"ABCAB"]}


def test_race_is_read_with_the_papers_recipe(shared, tmp_path):
    task = TASKS["race"]
    assert (task.recipe.learning_rate, task.recipe.dropout) == (2e-5, 0.1)
    assert task.recipe.steps_for(87_866) == (12_000, 1000)
    lines = (shared / "data" / "race" / "dev.jsonl").read_text().splitlines(True)
    (tmp_path / "rows.jsonl").write_text("".join(lines[:7]))
    rows = task.read(tmp_path / "rows.jsonl")
    assert {len(options) for options in rows.options} == {4}
    assert len(set(rows.articles)) == 7


def test_rows_without_answers(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "who", "options": ["a", "b"]}\n')
    with pytest.raises(ValueError, match="answer to each question. Received: .*rows"):
        MultipleChoiceTask().read(path)
    assert MultipleChoiceTask().read(path, needs_labels=False).answers is None


def test_rows_of_samples():
    samples = [("Ann left.", "Who left?", ["Ann", "Bob"]), ("", "A _?", ["b", "c"])]
    rows = MultipleChoiceTask().rows_of(samples)
    assert rows.articles == ["Ann left.", ""]
    assert rows.options == [["Ann", "Bob"], ["b", "c"]]
    named = [
        {"article": "Ann left.", "question": "Who left?", "choices": ["Ann", "Bob"]}
    ]
    assert MultipleChoiceTask().rows_of(named).options == rows.options[:1]
    # Without questions, contexts are shown in their place.
    continued = MultipleChoiceTask().rows_of([("Ann", ["left", "came"])])
    assert (continued.articles, continued.questions) == (["Ann"], [""])
    (row,) = MultipleChoiceTask().describe(
        PreparedRows(continued, None), np.array([[0.0, 1.0]])
    )
    assert (row["text"], row["label"]) == ("Ann", "B")
    for sample in ("a", ("a",), {"context": "a"}):
        with pytest.raises(ValueError, match="have context and options.*Received"):
            MultipleChoiceTask().rows_of([sample])
