"""Tagging as a task: entities and other tags, and sentences longer than a sequence."""

import numpy as np
import pytest

from albert_keras.runs.predictions import mistakes_of
from albert_keras.tasks import TASKS, TaggingTask
from albert_keras.tasks.tagging import PredictedTags, TaggedSentences, read_tagged
from tests.tasks.task_checks import run_task_test

WORDS = [
    "the boat of Ann Reed went to London".split(),
    "Ann liked the river in London".split(),
    ["London"],
    "a long walk by the river with Ann Reed".split(),
]
ENTITIES = {"Ann": "B-PER", "Reed": "I-PER", "London": "B-LOC"}
ROWS = TaggedSentences(WORDS, [[ENTITIES.get(w, "O") for w in s] for s in WORDS])


@pytest.mark.slow
def test_entities(tokenizer, tmp_path):
    task, prepared, _, predictions = run_task_test(
        TASKS["tagging"], ROWS, tokenizer, tmp_path, learned=("f1", 0.99)
    )
    assert task.labels == ("B-LOC", "B-PER", "I-PER", "O")
    assert task.main_metric == "f1"
    assert predictions.tags == ROWS.tags
    assert set(task.report(prepared, predictions)["entities"]) == {"PER", "LOC"}
    assert task.score(prepared, predictions)["num_words"] == 24
    (row, *_) = task.describe(prepared, predictions)
    assert row["label"].endswith("Ann/B-PER Reed/I-PER went/O to/O London/B-LOC")
    found = [(e["text"], e["type"], e["start"]) for e in row["entities"]]
    assert found == [("Ann Reed", "PER", 12), ("London", "LOC", 29)]
    assert row["entities"][0]["score"] == np.mean(predictions.probabilities[0][3:5])
    task.write_submission(tmp_path / "tags.txt", prepared, predictions)
    assert read_tagged(tmp_path / "tags.txt") == ROWS
    named = {"tokens": ["Ann", "left"], "tags": [1, 2]}
    rows = task.rows_of(["Ann  left", ["Ann", "left"], named])
    assert rows.words == [["Ann", "left"]] * 3
    with pytest.raises(ValueError, match="have tokens, in a tuple or a dict. .*Ann"):
        task.rows_of([{"text": "Ann"}])
    with pytest.raises(ValueError, match="str or a list of words. Received: .*Ann"):
        task.rows_of([["Ann", 1]])


def test_other_tags_are_scored_by_word(tokenizer):
    kinds = [["NOUN" if word[0].isupper() else "X" for word in s] for s in WORDS]
    task = TaggingTask().for_run(TaggedSentences(WORDS, kinds), tokenizer)
    assert (task.main_metric, task.default) == ("accuracy", "X")
    prepared = task.prepare(TaggedSentences(WORDS, kinds))
    predictions = PredictedTags(kinds, [[1.0] * len(row) for row in kinds])
    assert "f1" not in task.score(prepared, predictions)
    assert "entities" not in task.describe(prepared, predictions)[0]


def test_accuracy_is_by_word(tokenizer):
    task = TaggingTask().for_run(ROWS, tokenizer)
    predictions = [["O"] * len(tags) for tags in ROWS.tags]
    predictions[2] = ["I-PER"]
    shares = [[0.25] * len(tags) for tags in ROWS.tags]
    predictions = PredictedTags(predictions, shares)
    scores = task.score(task.prepare(ROWS), predictions)
    mistakes = mistakes_of(task, task.prepare(ROWS), predictions)
    assert [row["text"] for row in mistakes] == [" ".join(words) for words in WORDS]
    assert mistakes[2]["label"] == "London/B-LOC"
    assert mistakes[2]["prediction"] == "London/I-PER"
    num_others = sum(tags.count("O") for tags in ROWS.tags)
    assert scores["accuracy"] == scores["majority_accuracy"] == num_others / 24
    assert (scores["num_words"], scores["num_predicted_labels"]) == (24, 2)
    assert scores["f1"] == 0.0


def test_bad_rows(tokenizer, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("Ann\nleft\n")
    with pytest.raises(ValueError, match="a tag per word .*Received: .*rows.txt"):
        TaggingTask().read(path)
    assert TaggingTask().read(path, needs_labels=False).tags is None
    task = TaggingTask().for_run(ROWS, tokenizer)
    # Columns of a test file that has no tags, but something else last.
    path.write_text("Ann NNP -X-\nleft VBD -X-\n")
    assert task.read(path, needs_labels=False).tags is None
    path.write_text("Ann B-PER\nleft O\n")
    assert task.read(path, needs_labels=False).tags == [["B-PER", "O"]]
    with pytest.raises(ValueError, match="one of B-LOC, .* Received: B-ORG"):
        task.prepare(TaggedSentences([["BBC"]], [["B-ORG"]]))
