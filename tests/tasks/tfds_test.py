"""TFDS data sets of tasks give the rows of the official files."""

import json

import pytest

from albert_keras.runs.finetuning_task import find_files
from albert_keras.tasks import TASKS
from tests.tfds_data_sets import build

# tensorflow-datasets 4.9 asks protobuf 7 for a field's label in a deprecated way.
pytestmark = pytest.mark.filterwarnings("ignore:label.. is deprecated")

IN_TFDS = [name for name, task in TASKS.items() if task.tfds_name]

# The archives' folders with the tasks' files.
FOLDERS = {"cola": "CoLA", "imdb": "aclImdb", "race": "RACE"}
FOLDERS |= dict.fromkeys(("squad", "squad2", "tagging", "ax"), "")


def write(path, content, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding)


def write_table(path, rows, *, header=True, encoding="utf-8"):
    lines = [[*rows[0]]] * header + [[*row.values()] for row in rows]
    write(path, "".join("\t".join(line) + "\n" for line in lines), encoding)


def write_glue(task, folder):
    """Writes tables with each label twice, and test tables without labels."""
    columns, tables = task.columns, {}
    labels = getattr(task, "labels", ("0.5", "3.8", "5.0"))
    names = columns.header or ("#1 ID", "#2 ID", columns.text, columns.pair)
    for key, file in task.files.items():
        rows = tables[key] = []
        for number, label in enumerate(labels * 2):
            row = {name: f"é {name} {number} of {file}" for name in names if name}
            rows.append({**row, columns.label: label})
            if key.startswith("test"):
                del rows[-1][columns.label]
        header = columns.header is None or key == "test"
        write_table(folder / file, rows, header=header)
    return tables


def write_mrpc(task, folder, root):
    """Writes GLUE's files, and the files from which TFDS makes them."""
    tables = write_glue(task, folder)
    every = tables["train"] + tables["validation"]
    write_table(root / "msr_paraphrase_train.txt", every, encoding="utf-8-sig")
    write_table(root / "msr_paraphrase_test.txt", tables["test"])
    write_table(root / "mrpc_dev_ids.tsv", tables["validation"], header=False)


def write_imdb(task, folder):
    for place in ("train/pos", "train/neg", "train/unsup", "test/pos", "test/neg"):
        for number in range(3):
            write(
                folder / place / f"{number}_7.txt", f"A film <br />é {place} {number}"
            )


def write_squad(task, folder):
    for file in task.files.values():
        entries = [
            {
                "id": f"{number}",
                "question": f"{number} of {file}?",
                "answers": [{"text": "sang", "answer_start": 5}] * (number % 3),
                "is_impossible": number % 3 == 0,
            }
            # Questions of version 1.1 all have answers, and do not say so.
            for number in range(7)
            if number % 3 or task.scoring == "squad-2.0"
        ]
        paragraph = {"context": "Zoë  sang.", "qas": entries}
        write(folder / file, json.dumps({"data": [{"paragraphs": [paragraph]}]}))


def write_race(task, folder):
    for file in task.files.values():
        for name in ("middle/5", "middle/12", "high/3", "high/8", "high/9"):
            number = int(name.rpartition("/")[2])
            article = {
                "id": f"{name}.txt",
                "article": f"é {name} of {file}",
                "questions": [f"{number}: _?", "Why?"][: 1 + number % 2],
                "options": [[*"abcd"], ["e", "f g", "", "h"]][: 1 + number % 2],
                "answers": ["D", "B"][: 1 + number % 2],
            }
            write(folder / file / f"{name}.txt", json.dumps(article))


def write_conll(task, folder):
    for key, file in task.files.items():
        sentence = f"{key} NNP B-NP B-PER\nsang VBD B-VP O\n\n"
        write(folder / file, f"-DOCSTART- -X- -X- O\n\n{sentence}é FW O O\n\n")


def write_ax(task, folder):
    rows = [{"index": "0", "sentence1": "é", "sentence2": "b"}]
    write_table(folder / "AX.tsv", rows)
    # The name that TFDS' address has.
    write_table(folder / "2BOtOJ7", rows)


WRITERS = {"imdb": write_imdb, "squad": write_squad, "squad2": write_squad}
WRITERS |= {"race": write_race, "tagging": write_conll, "ax": write_ax}


@pytest.fixture
def official(tmp_path, monkeypatch):
    """Writes a task's official files and prepares them; returns their folder."""
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "tfds"))

    def prepare(name):
        task, root = TASKS[name], tmp_path / "files"
        folder = root / FOLDERS.get(name, name.upper())
        if name == "mrpc":
            write_mrpc(task, folder, root)
        else:
            WRITERS.get(name, write_glue)(task, folder)
        parts = ("/middle", "/high") if name == "race" else ("",)
        for part in parts:
            builder = build(task.tfds_name + part, root, tmp_path / "tfds")
        return folder, set(builder.info.splits)

    return prepare


def in_order(rows):
    """Returns sorted rows, because TFDS shuffles them."""
    if isinstance(rows, tuple):
        rows = zip(
            *(column for column in rows if isinstance(column, list)), strict=True
        )
    return sorted(rows)


@pytest.mark.parametrize("name", [name for name in IN_TFDS if name != "ax"])
def test_rows_of_the_official_files(name, official):
    folder, splits = official(name)
    task = TASKS[name]
    sources = find_files(task, "tfds")
    assert {source.rpartition(":")[2] for source in sources.values()} <= splits
    assert sources.keys() == {key for key in task.files if not key.startswith("test")}
    # IMDB has none to choose by.
    part = "validation" if "validation" in sources else "train"
    rows = in_order(task.read(sources[part]))
    assert rows == in_order(task.read(folder / task.files[part]))
    assert len(rows) > 1


def test_diagnostics_are_for_prediction(official):
    folder, splits = official("ax")
    assert splits == {"test"}
    with pytest.raises(ValueError, match="Training needs rows"):
        find_files(TASKS["ax"], "tfds")
    rows = TASKS["mnli"].read("tfds:glue/ax:test", needs_labels=False)
    assert rows == TASKS["ax"].read(folder / "AX.tsv", needs_labels=False)
