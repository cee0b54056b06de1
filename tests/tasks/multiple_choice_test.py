"""Multiple choice as a task: files in three layouts, letters, RACE's recipe."""

import json
import shutil

import numpy as np
import pytest

from albert_keras.preprocessors.choices import ChoiceQuestions
from albert_keras.runs.predictions import mistakes_of
from albert_keras.tasks import MultipleChoiceTask
from albert_keras.tasks.finetuning import PreparedRows
from albert_keras.tasks.multiple_choice import read_choice_questions
from tests.tasks.task_checks import run_task_test
from tests.tfds_data_sets import build

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


def test_rows_without_answers(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "who", "options": ["a", "b"]}\n')
    with pytest.raises(ValueError, match="answer to each question. Received: .*rows"):
        MultipleChoiceTask().read(path)
    assert MultipleChoiceTask().read(path, needs_labels=False).answers is None


def test_rows_of_samples():
    named = {"article": "Ann left.", "question": "Who left?", "choices": ["Ann", "Bob"]}
    for sample in (tuple(named.values()), named):
        rows = MultipleChoiceTask().rows_of([sample, ("", "A _?", ["b", "c"])])
        assert rows.articles == ["Ann left.", ""]
        assert rows.options == [["Ann", "Bob"], ["b", "c"]]
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


# === Multiple-choice questions in three layouts, and errors in their files ===


ARTICLES = [
    {
        "id": f"{level}{number}.txt",
        "article": f"Text {number} of {level}.",
        "questions": [f"Which is _ {number}?", "Why?"][: number % 2 + 1],
        "options": [["a", "b_", "c\\1"], ["d", "e", "f"]][: number % 2 + 1],
        "answers": ["C", "A"][: number % 2 + 1],
    }
    for level, number in [("high", 1), ("high", 12), ("middle", 7), ("middle", 5)]
]


@pytest.fixture
def race(tmp_path):
    """A folder in RACE's layout."""
    for row in ARTICLES:
        level = "high" if "high" in row["id"] else "middle"
        path = tmp_path / "train" / level / row["id"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(row) + "\n", "utf-8")
    (tmp_path / "train" / "high" / "notes.md").write_text("none of them")
    return tmp_path / "train"


def test_folder_in_the_layout_of_race(race):
    rows = read_choice_questions(race)
    assert rows.groups == ["middle"] * 4 + ["high"] * 3
    assert rows.articles[:5] == [
        *["Text 5 of middle."] * 2,
        *["Text 7 of middle."] * 2,
        "Text 1 of high.",
    ]
    assert rows.questions[4:] == ["Which is _ 1?", "Why?", "Which is _ 12?"]
    assert rows.options[5:] == [["d", "e", "f"], ["a", "b_", "c\\1"]]
    assert rows.answers == [2, 0, 2, 0, 2, 0, 2]
    # The same articles as lines, in the order of levels and names.
    # One level alone.
    assert read_choice_questions(race / "high") == tuple(column[4:] for column in rows)
    path = race / "race.jsonl"
    path.write_text("\n".join(json.dumps(ARTICLES[index]) for index in (3, 2, 0, 1)))
    assert read_choice_questions(path) == (*rows[:4], [""] * 7)


@pytest.mark.filterwarnings("ignore:label.. is deprecated")
def test_levels_in_tfds(race, tmp_path, monkeypatch):
    for split in ("train", "dev", "test"):
        folder = tmp_path / "files/RACE" / split
        shutil.copytree(race, folder, ignore=shutil.ignore_patterns("*.md"))
    for level in ("middle", "high"):
        build(f"race/{level}", tmp_path / "files", tmp_path / "tfds")
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "tfds"))
    both = [*zip(*read_choice_questions(race), strict=True)]
    for source, same in [
        ("tfds:race:dev", both),
        ("tfds:race", both),
        ("tfds:race/high:test[:100%]", both[4:]),
        ("tfds:race/high:2.0.0:dev", both[4:]),
    ]:
        rows = read_choice_questions(source)
        assert rows.groups == [row[-1] for row in same]
        assert sorted(zip(*rows, strict=True)) == sorted(same)


def test_json_lines_of_questions(tmp_path):
    path = tmp_path / "own.jsonl"
    here = {"context": "Here.", "question": "Where?"}
    lines = [
        {**here, "options": ["a", "b"], "answer": "B"},
        {"question": "Who?", "choices": ["c", "d"], "label": 0},
        {"article": "It.", "question": "", "options": ["e", ""], "label": "1"},
        {"passage": "", "question": "How?", "options": ["g", "h"], "answer": "a"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert read_choice_questions(path) == (
        ["Here.", "", "It.", ""],
        ["Where?", "Who?", "", "How?"],
        [["a", "b"], ["c", "d"], ["e", ""], ["g", "h"]],
        [1, 0, 1, 0],
        [""] * 4,
    )
    for line in lines:
        line.pop("answer", None), line.pop("label", None)
    path.write_text("\n".join(map(json.dumps, lines)))
    assert read_choice_questions(path).answers is None


QUESTION = {"question": "Where?", "options": ["a", "b"], "answer": 1}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "must be a question. Received: .*own.jsonl', without one"),
        ([QUESTION, {**QUESTION, "answer": None}], "have answers, .* line 2, without"),
        ([{**QUESTION, "answer": 2}], "letters AB, or a number from 0 to 1. .*: 2"),
        ([{**QUESTION, "answer": "C"}], "Received: .*line 1: 'C'"),
        ([{**QUESTION, "answer": True}], "Received: .*line 1: True"),
        ([{**QUESTION, "options": ["a"]}], "2 to 26 options.*line 1: .*'Where.'"),
        ([{**QUESTION, "options": ["a"] * 27}], "2 to 26 options.*line 1"),
        ([QUESTION, {**QUESTION, "options": [*"abc"]}], "line 2, with 3, and 2 before"),
        ([{**QUESTION, "options": "ab"}], "`options` must be a list.*'ab' in .*line 1"),
        ([{**QUESTION, "options": ["a", 7]}], "`options` must be a string.*7 .*line 1"),
        ([{"options": ["a", "b"]}], "`questions` must be a string.*None in .*line 1"),
        (
            [{**ARTICLES[0], "article": None}],
            "`article` must be a string.*None.*line 1",
        ),
        ([{**ARTICLES[0], "answers": ["A"]}], "have an answer, or none .*line 1"),
        ([{**ARTICLES[0], "questions": "Why?"}], "`questions` must be a list.*line 1"),
    ],
)
def test_bad_lines(tmp_path, rows, message):
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(ValueError, match=message):
        read_choice_questions(path)


def test_missing_levels(tmp_path):
    with pytest.raises(ValueError, match="with middle or high in it. Received: "):
        read_choice_questions(tmp_path)
    (tmp_path / "part" / "middle").mkdir(parents=True)
    with pytest.raises(ValueError, match="without one"):
        read_choice_questions(tmp_path / "part")
