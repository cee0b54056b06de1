"""Tagging as a task, and tagged sentences in columns, JSON lines and TFDS."""

import gzip
import json

import numpy as np
import pytest

from albert_keras.runs.predictions import mistakes_of
from albert_keras.tasks import TASKS, TaggingTask
from albert_keras.tasks.finetuning import PreparedRows
from albert_keras.tasks.tagging import (
    PredictedTags,
    TaggedSentences,
    default_tag,
    read_tagged,
)
from tests.tasks.task_checks import run_task_test
from tests.tfds_data_sets import build

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


# === Files ===


SENTENCES = [["U.N.", "official", "in", "巴 黎"], ["#", "你好"]]
SENTENCE_TAGS = [["B-ORG", "O", "O", "B-LOC"], ["O", "O"]]


def write(path, content):
    path.write_text(content, "utf-8")
    return path


def columns_of(words, tags):
    sentences = [zip(*rows, strict=True) for rows in zip(words, tags, strict=True)]
    return "\n".join(
        "".join(f"{word}\tX\t{tag}\n" for word, tag in rows) for rows in sentences
    )


def test_formats_hold_the_same_sentences(tmp_path):
    text = columns_of(SENTENCES, SENTENCE_TAGS)
    rows = zip(SENTENCES, SENTENCE_TAGS, strict=True)
    lines = [json.dumps({"tokens": words, "tags": tags}) for words, tags in rows]
    renamed = [
        line.replace("tokens", "words").replace("tags", "labels") for line in lines
    ]
    # No space inside a word of columns that are separated by spaces.
    spaced = text.replace("巴 黎", "巴黎").replace("\t", "  ").replace("\n", " \r\n")
    files = {
        "a.tsv": text,
        "a.conll": f"-DOCSTART- -X- O\n\n\n{spaced}",
        "a.jsonl": "\n\n".join(lines),
        "b.jsonl": "\n".join(renamed),
    }
    for name, content in files.items():
        words, tags = read_tagged(write(tmp_path / name, content))[:2]
        if name == "a.conll":
            words[0][3] = "巴 黎"
        assert (words, tags) == (SENTENCES, SENTENCE_TAGS), name
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(files["a.jsonl"].encode()))
    assert read_tagged(tmp_path / "a.jsonl.gz")[:2] == (SENTENCES, SENTENCE_TAGS)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_documents_begin_after_a_sentence(end, tmp_path):
    text = "-DOCSTART- O\nEU B-ORG\n-DOCSTART- -X- O\nPeter B-PER\n \t\na O"
    path = tmp_path / "a.txt"
    path.write_bytes(text.replace("\n", end).encode())
    tags = [["B-ORG"], ["B-PER"], ["O"]]
    assert read_tagged(path)[:2] == ([["EU"], ["Peter"], ["a"]], tags)


def test_tags_may_be_absent_and_may_be_numbers(tmp_path):
    path = write(tmp_path / "a.txt", "She\nruns\n\nfar\n")
    assert read_tagged(path)[:2] == ([["She", "runs"], ["far"]], None)
    path = write(tmp_path / "a.jsonl", '{"tokens": ["far"], "tags": null}')
    assert read_tagged(path)[:2] == ([["far"]], None)
    path = write(tmp_path / "b.jsonl", '{"tokens": ["far", "off"], "tags": [3, "x"]}')
    assert read_tagged(path).tags == [["3", "x"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "\n-DOCSTART- O\n", "hold a word. Received: .*a.txt', with none"),
        ("a.txt", "far O\n\n# text = x\n", "line 3, with 4, and 2 before: .*Remove"),
        ("a.txt", "far\tO\noff\t\n", "a word first, a tag last, .*line 2, with 2"),
        ("a.jsonl", '{"text": "far"}', "have tokens or words, .*line 1: {'text': 'f"),
        ("a.jsonl", '\n{"words": []}', "have tokens or words, .*line 2"),
        ("a.jsonl", '{"words": "far"}', "a list of texts .*line 1: {'words': 'far'}"),
        ("a.jsonl", '{"words": ["far", ""]}', "not empty, .*'far', ''"),
        ("a.jsonl", '{"words": ["a"], "tags": ["O", "O"]}', "as many tags, or none"),
        (
            "a.jsonl",
            '{"words": ["a"], "tags": ["O"]}\n{"words": ["b"]}',
            "must have tags, or none. Received: .*a.jsonl', line 2, without",
        ),
    ],
)
def test_bad_files(tmp_path, name, content, message):
    path = write(tmp_path / name, content)
    with pytest.raises(ValueError, match=message):
        read_tagged(path)


@pytest.mark.filterwarnings("ignore:label.. is deprecated")
def test_features_of_a_data_set_in_tfds(tmp_path, monkeypatch):
    # TFDS makes a sentence of no words of the last empty line.
    text = "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nsang VBD B-VP O\n\n"
    for name in ("train", "valid", "test"):
        write(tmp_path / f"{name}.txt", text)
    build("conll2003", tmp_path, tmp_path / "tfds")
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "tfds"))
    for feature, tags in (("ner", ["B-ORG", "O"]), ("pos", ["NNP", "VBD"])):
        rows = read_tagged("tfds:conll2003:dev", tag_feature=feature)
        assert rows[:2] == ([["EU", "sang"]], [tags])
    assert read_tagged("tfds:conll2003").tags == [["B-ORG", "O"]]
    assert read_tagged("tfds:conll2003:test", tag_feature="upos").tags is None


def test_tag_of_words_without_tokens():
    assert default_tag([["B-PER", "B-PER"], ["O"]]) == "O"
    assert default_tag([["NOUN", "VERB"], ["NOUN"]]) == "NOUN"


def test_written_tags_are_read_back(tmp_path):
    words = [["New York", "\x01", "你"], ["far"]]
    predictions = [["B-LOC", "O", "O"], ["I-LOC"]]
    tags = [["B-LOC", "O", "B-PER"], ["O"]]
    path = tmp_path / "predicted.tsv"
    predictions = PredictedTags(predictions, None)
    rows = PreparedRows(TaggedSentences(words, None), None)
    TaggingTask().write_submission(path, rows, predictions)
    text = "New York\tB-LOC\n\x01\tO\n你\tO\n\nfar\tI-LOC\n\n"
    assert path.read_text("utf-8") == text
    rows = PreparedRows(TaggedSentences(words, tags), None)
    TaggingTask().write_submission(path, rows, predictions)
    assert read_tagged(path)[:2] == (words, predictions.tags)
    words[0][0] = "New\nYork"
    with pytest.raises(
        ValueError, match=r"a tab or a line break. Received: 'New.nYork'"
    ):
        TaggingTask().write_submission(path, rows, predictions)
