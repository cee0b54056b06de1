"""Multiple choice as a task: files in three layouts, letters, RACE's recipe."""

import json
import shutil

import numpy as np
import pytest

from albert_keras.preprocessors.choices import ChoiceQuestions
from albert_keras.runs.predictions import mistakes_of
from albert_keras.tasks import TASKS, MultipleChoiceTask
from albert_keras.tasks.finetuning import PreparedRows
from albert_keras.tasks.multiple_choice import read_choice_questions
from tests.tasks.task_checks import run_task_test
from tests.tfds_data_sets import build, prepare

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


@pytest.mark.filterwarnings("ignore:label.. is deprecated")
def test_questions_without_articles_in_tfds(tmp_path):
    tfds = pytest.importorskip("tensorflow_datasets")
    text = tfds.features.Text()
    features = {
        "question": text,
        "choices": tfds.features.Sequence(text),
        "label": tfds.features.ClassLabel(names=["A", "B"]),
    }
    rows = [{"question": "é?", "choices": ["a", ""], "label": "B"}]
    rows += [{"question": "", "choices": ["a", "b", "c"], "label": "A"}]
    folder = prepare(tmp_path / "own/1.0.0", features, {"train": [rows]})
    assert read_choice_questions(f"tfds:{folder}:train[:1]") == (
        *([""], ["é?"], [["a", ""]], [1], [""]),
    )
    with pytest.raises(ValueError, match="own/1.0.0', row 1, with 3, and 2 before"):
        read_choice_questions(f"tfds:{folder}")


def test_json_lines_of_articles(race, tmp_path):
    path = tmp_path / "race.jsonl"
    # Files are read by name, levels from the lower one on.
    ordered = [ARTICLES[index] for index in (3, 2, 0, 1)]
    path.write_text("\n".join(map(json.dumps, ordered)))
    rows = read_choice_questions(race)
    assert read_choice_questions(path) == (*rows[:4], [""] * 7)


def test_json_lines_of_questions(tmp_path):
    path = tmp_path / "own.jsonl"
    lines = [
        {
            "context": "Here.",
            "question": "Where?",
            "options": ["a", "b"],
            "answer": "B",
        },
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
        (
            [QUESTION, {**QUESTION, "options": ["a", "b", "c"]}],
            "same number of options. Received: .*line 2, with 3, and 2 before",
        ),
        (
            [QUESTION, {**QUESTION, "answer": None}],
            "must have answers, .* line 2, without",
        ),
        ([{**QUESTION, "answer": None}, QUESTION], "line 1, without"),
        ([{**QUESTION, "answer": 2}], "letters AB, or a number from 0 to 1. .*: 2"),
        ([{**QUESTION, "answer": "C"}], "Received: .*line 1: 'C'"),
        ([{**QUESTION, "answer": True}], "Received: .*line 1: True"),
        ([{**QUESTION, "options": ["a"]}], "2 to 26 options. Received: .*1: .'a'.."),
        ([{**QUESTION, "options": ["a"] * 27}], "2 to 26 options. Received: .*line 1"),
        ([{**QUESTION, "options": "ab"}], "2 to 26 options. Received: .*line 1: 'ab'"),
        ([{**QUESTION, "options": ["a", 7]}], "must be texts. Received: .*line 1: 7"),
        ([{**QUESTION, "context": "\ud800"}], "half a surrogate"),
        ([{"options": ["a", "b"]}], "must be texts. Received: .*line 1: None"),
        ([{**ARTICLES[0], "article": None}], "must be texts. Received: .*line 1: None"),
        ([{**ARTICLES[0], "answers": ["A"]}], "lists of the same length. .*line 1"),
        ([{**ARTICLES[0], "questions": "Why?"}], "lists of the same length. .*line 1"),
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
    with pytest.raises(FileNotFoundError):
        read_choice_questions(tmp_path / "absent.jsonl")
