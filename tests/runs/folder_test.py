"""Run folders and rows: what is recorded, what may change, and what is held out."""

import json
import re
import shutil

import pytest

from albert_keras.preprocessors.answer_spans import Question
from albert_keras.preprocessors.choices import ChoiceQuestions
from albert_keras.runs.finetuning_config import FinetuningRunConfig
from albert_keras.runs.finetuning_task import (
    fingerprint_rows,
    hold_out,
    read_rows,
    split_rows,
)
from albert_keras.runs.folder import CHANGEABLE, RunFolder
from albert_keras.runs.pretraining_config import PretrainingRunConfig
from albert_keras.system import fingerprints
from albert_keras.tasks import TASKS
from albert_keras.tasks.text_classification.reading import LabelledTexts


def pretraining(**options):
    return PretrainingRunConfig(
        **{"run": "base", "tokenizer": "30k.model", "data": "tokens", **options}
    )


def finetuning(**options):
    common = {"run": "sst2", "task": "sst-2", "checkpoint": "base", "data": "SST-2"}
    return FinetuningRunConfig(**{**common, **options})


@pytest.fixture
def begun(tmp_path):
    """A pretraining run with a checkpoint of step 5."""
    folder = RunFolder(tmp_path / "run")
    folder.write(pretraining(batch_size=8), data="tokens")
    (folder.path / "checkpoints").mkdir()
    (folder.path / "checkpoints" / "step-00000005.npz").touch()
    return folder


def test_a_description_has_version_kind_config_and_facts(begun):
    content = json.loads((begun.path / "run.json").read_text())
    assert content == begun.read()
    assert (content["version"], content["kind"]) == (2, "pretraining")
    assert content["data"] == "tokens"
    assert content["config"]["batch_size"] == 8
    assert "run" not in content["config"]


def test_changeable_options_are_options():
    fields = {
        *PretrainingRunConfig.__dataclass_fields__,
        *FinetuningRunConfig.__dataclass_fields__,
    }
    assert fields > CHANGEABLE


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({}, None),
        ({"num_steps": 9, "strategy": "mirrored", "workers": 3}, None),
        ({"validation_data": "held_out", "data": "moved"}, None),
        ({"batch_size": 9}, "batch_size=9 (was 8)"),
        ({"num_steps": 4}, "the step it has reached, 5. Received: num_steps=4."),
        ({"seed": 1}, "seed=1 (was 0)"),
        ({"learning_rate": 0.25}, "learning_rate=0.25 (was None)"),
        ({"data_options": {"masking": "token"}}, "masking='token' (was None)"),
    ],
)
def test_resuming_with_other_options(begun, options, difference):
    config = pretraining(**{"batch_size": 8, **options})
    if difference is None:
        begun.check_resumable(config)
        return
    with pytest.raises(ValueError, match=re.escape(difference)):
        begun.check_resumable(config)


def test_what_a_run_found_must_be_as_before(begun):
    config = pretraining(batch_size=8)
    examples = {"masked_rate": 0.15, "of_a_later": "version"}
    begun.write(config, examples=examples, batch_multiple=2)
    begun.check_resumable(config, masked_rate=0.15, batch_multiple=2, pair_gap=3)
    with pytest.raises(ValueError, match=r"multiple=4 \(was 2\), masked_rate=0.3 \("):
        begun.check_resumable(config, masked_rate=0.3, batch_multiple=4)


def test_another_kind_of_run(begun):
    with pytest.raises(ValueError, match=r"kind='finetuning' \(was 'pretraining'\)"):
        begun.check_resumable(finetuning())


def test_options_that_only_one_version_knows_strand_no_run(begun):
    content = begun.read()
    del content["config"]["precision"]
    content["config"]["invented_later"] = 5
    (begun.path / "run.json").write_text(json.dumps(content))
    begun.check_resumable(pretraining(batch_size=8))
    # A run that kept nothing may begin with any options.
    shutil.rmtree(begun.path / "checkpoints")
    begun.check_resumable(pretraining(batch_size=9))


@pytest.mark.parametrize(
    "content",
    ['{"arguments": 5}', "{}", '{"version": 3, "kind": "x", "config": {}}', "[]"],
)
def test_files_that_describe_no_run(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ValueError, match="must") as caught:
        RunFolder(tmp_path).read()
    assert "run.json" in str(caught.value)


def test_folders_that_hold_no_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="A run folder holds `run.json`"):
        RunFolder(tmp_path).read()


# === Held-out rows that are taken from the training rows, and rows that are left out ===


TASK = TASKS["text-classification"]
LABELS = ["rare"] * 20 + ["frequent"] * 180
ROWS = LabelledTexts([f"text {i}" for i in range(200)], LABELS)


def test_labels_are_as_frequent_in_both_parts():
    train, held_out = split_rows(TASK, ROWS, 0.15, seed=3)
    assert sorted(train.texts + held_out.texts) == sorted(ROWS.texts)
    assert (len(train.texts), held_out.labels.count("rare")) == (170, 3)
    assert split_rows(TASK, ROWS, 0.15, seed=3) == (train, held_out)
    assert split_rows(TASK, ROWS, 0.15, seed=4)[1].texts != held_out.texts
    texts, labels = train.texts, train.labels
    by_text = dict(zip(ROWS.texts, ROWS.labels, strict=True))
    assert labels == [by_text[text] for text in texts]


def test_a_label_that_cannot_be_divided_is_drawn_like_others():
    rows = LabelledTexts([*"abcdefg"], ["x"] * 6 + ["y"])
    train, held_out = split_rows(TASK, rows, 0.3, seed=1)
    assert (len(train.texts), len(held_out.texts)) == (4, 3)


def test_equal_texts_stay_together():
    rows = LabelledTexts([f"text {i % 37}" for i in range(111)], ["a", "b", "c"] * 37)
    train, held_out = split_rows(TASK, rows, 0.2, seed=5)
    assert not {*train.texts} & {*held_out.texts}
    assert len(held_out.texts) == 3 * 8


def test_questions_on_one_text_stay_together():
    questions = [Question(str(i), "Who?", f"context {i // 5}") for i in range(45)]
    train, held_out = split_rows(TASKS["squad"], questions, 0.3, seed=2)
    assert (len(train), len(held_out)) == (30, 15)
    assert not {q.context for q in train} & {q.context for q in held_out}
    columns = ["article"] * 4 + [""] * 3, [*"abcdefg"], [["x", "y"]] * 7
    rows = ChoiceQuestions(*columns, answers=[1] * 7, groups=[""] * 7)
    train, held_out = split_rows(TASKS["race"], rows, 0.5, seed=2)
    assert {len(train.answers), len(held_out.answers)} == {2, 5}


def held_out_by(rows, recorded=None, split=None, **others):
    parts, share = hold_out(TASK, {"train": rows, **others}, split, 0, recorded or {})
    return {name: len(part.texts) for name, part in parts.items()}, share


def test_a_tenth_is_held_out_where_nothing_is_said(capsys):
    assert held_out_by(ROWS) == ({"validation": 20, "train": 180}, 0.1)
    line = "20 of 200 training rows are held out, drawn by seed 0 (--validation-split"
    assert capsys.readouterr().err == f"{line} 0.1)\n"
    equal = ROWS._replace(texts=["text"] * 200)
    assert held_out_by(equal) == ({"train": 200}, 0.0)
    with pytest.raises(ValueError, match="validation_split=0.3 of 1 different"):
        held_out_by(equal, split=0.3)
    few = ROWS._replace(texts=ROWS.texts[:99], labels=ROWS.labels[:99])
    assert held_out_by(few) == ({"train": 99}, 0.0)
    assert held_out_by(ROWS, validation=few)[0] == {"train": 200, "validation": 99}
    assert held_out_by(ROWS, split=0.0) == ({"train": 200}, 0.0)
    with pytest.raises(ValueError, match="Received: validation_split=0.3 and a file"):
        held_out_by(ROWS, split=0.3, validation=few)


def test_a_resumed_run_keeps_its_training_rows():
    recorded = {"validation_split": 0.25}
    assert held_out_by(ROWS, recorded) == ({"validation": 50, "train": 150}, 0.25)
    few = ROWS._replace(texts=ROWS.texts[:7], labels=ROWS.labels[:7])
    parts, _ = held_out_by(ROWS, recorded, validation=few)
    assert parts == {"validation": 7, "train": 150}


def test_fingerprints_of_training_rows(tmp_path):
    source = "tfds:glue/rte:train"
    assert fingerprint_rows(source) == [[source, source]]
    for label in ("neg", "pos"):
        (tmp_path / label).mkdir()
    file = tmp_path / "neg" / "1.txt"
    file.write_text("dull")
    (path, of_file), *_ = fingerprint_rows(str(file))
    ((folder, of_folder),) = fingerprint_rows(str(tmp_path))
    assert (path, folder) == (str(file), str(tmp_path))
    # Files that are not read.
    for other in (".DS_Store", "neg/.DS_Store", "run/run.json", "run/model/vocab.txt"):
        (tmp_path / other).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / other).write_text("other")
    assert fingerprint_rows(tmp_path) == [[folder, of_folder]]
    # The folder of a text is its label.
    moved = file.rename(tmp_path / "pos" / "1.txt")
    assert fingerprint_rows(moved) == [[str(moved), of_file]]
    assert fingerprint_rows(tmp_path) != [[folder, of_folder]]


def test_no_changed_row_of_a_large_file_is_missed(tmp_path, monkeypatch):
    monkeypatch.setattr(fingerprints, "WHOLE_BYTES", 0)
    file = tmp_path / "train.tsv"
    content = bytearray(3 * fingerprints.NUM_BLOCKS * fingerprints.BLOCK_BYTES)
    file.write_bytes(content)
    before = fingerprint_rows(file)
    content[fingerprints.BLOCK_BYTES] = 1
    file.write_bytes(content)
    assert fingerprint_rows(file) != before


def test_rows_that_are_left_out_are_counted(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("text,label\na,1\nb,\n,0\nc,1\n")
    task = TASK.with_columns(skips_broken=True)
    assert read_rows(task, tmp_path / "a.csv").texts == ["a", "c"]
    assert capsys.readouterr().err.startswith("2 broken rows of '")
