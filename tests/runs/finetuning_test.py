"""Fine-tuning runs: tasks, seeds, guards, files, and bad options."""

import json
import random
import re

import numpy as np
import pytest

from albert_keras import sample
from albert_keras.cli import main
from albert_keras.converters import load_checkpoint
from tests.runs.conftest import LENGTH


@pytest.fixture(scope="module")
def checkpoint(base):
    return base


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """The sample's reviews in the layout of SST-2."""
    folder = tmp_path_factory.mktemp("reviews")
    for source, name in ((sample.REVIEWS_TRAIN, "train"), (sample.REVIEWS_TEST, "dev")):
        lines = source.read_text("utf-8").splitlines()[1:]
        rows = [line.split("\t") for line in lines]
        rows = [(text, str(int(label == "positive"))) for text, label in rows]
        write_rows(folder / f"{name}.tsv", [("sentence", "label"), *rows])
    return folder


def write_rows(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")


def finetune(checkpoint, *words):
    common = ["--checkpoint", checkpoint, "--sequence-length", LENGTH]
    return ["finetune", *common, *words]


@pytest.mark.slow
def test_a_task_from_its_folder(checkpoint, reviews, tmp_path, call, fail):
    run = tmp_path / "run"
    words = finetune(checkpoint, "--task", "sst-2", "--data", reviews, "--run", run)
    words += ["--num-steps", 60, "--learning-rate", 0.003, "--batch-size", 10]
    words += ["--steps-per-evaluation", 15, "--no-collapse-guard", "--layer-decay", 0.9]
    results = call(*words)
    best = json.loads((run / "checkpoints" / "best.json").read_text())
    assert results["best_step"] == best["step"]
    assert results["accuracy"] == pytest.approx(best["value"])
    lines = [json.loads(x) for x in (run / "log.jsonl").read_text().splitlines()]
    measured = [x["val_accuracy"] for x in lines if "val_accuracy" in x]
    assert len(measured) == 4
    assert max(measured) == results["accuracy"]
    report = json.loads((run / "report.json").read_text())
    matrix = report["confusion_matrix"]
    assert sum(map(sum, matrix)) == results["num_examples"]
    assert (matrix[0][0] + matrix[1][1]) / 100 == pytest.approx(results["accuracy"])
    assert (run / "confusion_matrix.png").stat().st_size > 1000
    _, *mistakes = (run / "mistakes.csv").read_text("utf-8").splitlines()
    assert len(mistakes) == matrix[0][1] + matrix[1][0]
    page = (run / "report.html").read_text("utf-8")
    assert page.count("<svg") == 2
    assert f"{results['majority_accuracy']:.4g}" in page
    assert (report["main_metric"], report["best_step"]) == ("accuracy", best["step"])
    assert (run / "learning_curve.png").stat().st_size > 1000
    description = json.loads((run / "run.json").read_text())
    assert description["recipe"]["classifier_dropout"] == 0.1
    assert description["labels"] == ["0", "1"]
    assert description["held_out_texts_in_training"] == {"validation": 0}

    evaluation = call("evaluate", run, "--data", reviews / "dev.tsv")
    assert evaluation["accuracy"] == results["accuracy"]
    text = "The soup was warm and very good."
    typed = call("predict", run, text)["predictions"][0]
    write_rows(tmp_path / "test.tsv", [("index", "sentence"), ("0", text)])
    words = ["--data", tmp_path / "test.tsv", "--output", tmp_path / "SST-2.tsv"]
    (row,) = call("predict", run, *words)["predictions"]
    assert row["logits"] == pytest.approx(typed["logits"], abs=1e-5)
    line = fail("predict", run, text, "--data", tmp_path / "test.tsv")
    assert "Received: texts=" in line
    assert "text_column" in fail("predict", run, text, "--text-column", "review")
    written = (tmp_path / "SST-2.tsv").read_text()
    assert written == f"index\tprediction\n0\t{typed['label']}\n"


@pytest.mark.slow
def test_a_dry_run_reports_the_shapes(checkpoint, reviews, tmp_path, call):
    words = finetune(checkpoint, "--task", "sst-2", "--data", reviews)
    words += ["--run", tmp_path / "run", "--batch-size", 10, "--dry-run"]
    batches = call(*words)["batches"]
    assert [length for _, length in batches] == [16, 24, LENGTH]
    tokens = [num_examples * length for num_examples, length in batches]
    assert max(tokens) < 1.2 * min(tokens)
    assert call(*words, "--pad-to-maximum")["batches"] == [[10, LENGTH]]
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_evaluations_are_about_an_epoch_apart(checkpoint, reviews, tmp_path, call):
    rows = (reviews / "train.tsv").read_text().splitlines()[:23]
    (tmp_path / "train.tsv").write_text("\n".join(rows) + "\n")
    words = finetune(checkpoint, "--task", "sst-2", "--train", tmp_path / "train.tsv")
    words += ["--validation", tmp_path / "train.tsv", "--batch-size", 5]
    # 22 rows: four steps and two fifths an epoch, thirteen in three.
    call(*words, "--num-epochs", 3, "--run", tmp_path / "run")
    lines = (tmp_path / "run" / "log.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    measured = [entry["step"] for entry in entries if "val_accuracy" in entry]
    assert measured == [5, 10, 13]


@pytest.fixture
def noise(tmp_path):
    """Rows whose labels have nothing to do with their texts."""
    draw = random.Random(3)
    rows = [(f"text {i}", draw.choice("ab")) for i in range(40)]
    write_rows(tmp_path / "noise.tsv", [("text", "label"), *rows])
    return tmp_path / "noise.tsv"


@pytest.mark.slow
def test_a_collapsed_run_is_reported_and_restarted(checkpoint, noise, tmp_path, fail):
    run = tmp_path / "run"
    words = finetune(checkpoint, "--task", "text-classification", "--train", noise)
    words += ["--validation", noise, "--freeze", "backbone", "--num-steps", 330]
    words += ["--learning-rate", 1e-7, "--batch-size", 8, "--run", run]
    words += ["--steps-per-evaluation", 100]
    line = fail(*words, "--restarts", 1)
    assert "more than a constant answer. Received: by step" in line
    assert "learning rate" in line
    description = json.loads((run / "run.json").read_text())
    (restart,) = description["restarts"]
    assert restart["learning_rate"] == 1e-7
    assert "constant answer" in restart["reason"]
    assert (run / "collapsed-1" / "log.jsonl").exists()
    assert (run / "log.jsonl").exists()
    # The command again continues after that restart, and fails at the same guard.
    assert "more than a constant answer" in fail(*words, "--restarts", 0)
    assert json.loads((run / "run.json").read_text())["restarts"] == [restart]


@pytest.mark.slow
def test_a_sweep_takes_the_best_rate_on_training_rows(
    checkpoint, reviews, tmp_path, call, capsys
):
    run = tmp_path / "run"
    words = finetune(checkpoint, "--task", "sst-2", "--data", reviews, "--run", run)
    words += ["--learning-rate", "sweep", "--num-steps", 4, "--batch-size", 8]
    words += ["--freeze", "embeddings"]
    assert main([*map(str, words)]) == 0
    messages = capsys.readouterr().err
    assert "300 training examples, each read 0.107 times" in messages
    description = json.loads((run / "run.json").read_text())
    rate = description["recipe"]["learning_rate"]
    assert f"learning rate {rate:g}: accuracy on a tenth of" in messages
    tried = re.findall(r"(0[.]\d+): (0[.]\d+|1)", messages)
    scores = {float(name): float(score) for name, score in tried}
    assert [*scores] == [0.00033, 0.001, 0.003]
    assert scores[rate] == max(scores.values())
    assert not (run / "sweep").exists()
    log = [json.loads(x) for x in (run / "log.jsonl").read_text().splitlines()]
    assert max(entry["learning_rate"] for entry in log) <= rate
    before, after = (
        {v.path: np.array(v) for v in load_checkpoint(path, head=None).weights}
        for path in (checkpoint, run)
    )
    same = {path for path in before if np.array_equal(before[path], after[path])}
    assert any("embeddings" in path for path in same)
    assert {path for path in before if "embeddings" in path} <= same < {*before}
    # Resumed, it keeps its rate.
    assert call(*words)["num_steps"] == 4
    assert json.loads((run / "run.json").read_text()) == description


@pytest.mark.slow
def test_questions_get_answers(checkpoint, tmp_path, call):
    context = "The boat went down the river, and Ann sang."
    questions = [
        {
            "id": "a",
            "question": "Who sang?",
            "answers": [{"text": "Ann", "answer_start": context.index("Ann")}],
        },
        {"id": "b", "question": "Who slept?", "answers": [], "is_impossible": True},
    ]
    data = {"data": [{"paragraphs": [{"context": context, "qas": questions}]}]}
    for name in ("train-v2.0.json", "dev-v2.0.json"):
        (tmp_path / name).write_text(json.dumps(data))
    run = tmp_path / "run"
    words = finetune(checkpoint, "--task", "squad2", "--data", tmp_path, "--run", run)
    words += ["--num-steps", 3, "--batch-size", 2, "--max-question-length", 9]
    words += ["--precision", "mixed_bfloat16", "--patience", 3]
    results = call(*words, "--doc-stride", 5)
    assert results["total"] == 2
    threshold = json.loads((run / "run.json").read_text())["null_threshold"]
    assert isinstance(threshold, float)
    assert results["f1"] == pytest.approx(results["best_f1"])
    (row,) = call("predict", run, "Who sang?", context)["predictions"]
    assert row["answer"] == "" or row["answer"] in context
    evaluation = call("evaluate", run, "--data", tmp_path / "dev-v2.0.json")
    assert evaluation["f1"] == results["f1"]


def test_questions_whose_answers_are_all_lost(tmp_path, fail):
    question = {"id": "a", "question": "Who?"}
    question["answers"] = [{"text": "Ann", "answer_start": 0}]
    paragraph = {"context": "The boat went down.", "qas": [question]}
    path = tmp_path / "train-v1.1.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    words = ["--task", "squad", "--train", path, "--max-question-length", 9]
    words += ["--doc-stride", 5, "--run", tmp_path / "run"]
    line = fail(*finetune("albert_nano_en", *words))
    assert "examples to train on. Received: none" in line


IMDB = f"--task imdb --train {sample.REVIEWS_TRAIN}"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("--task sst-2", "Received: --data None"),
        ("--task sst-2 --data {folder}", "--data, a folder with train.tsv"),
        ("--task sst-2 --data {folder}x --train x", "which does not exist"),
        ("--task cmrc2018 --data tfds", "data set in TFDS"),
        ("--task sst-2 --train x --class-weights a=b", "Received: a=b"),
        ("--task sst-2 --train x.tsv --layer-decay 0.5", "x.tsv"),
        (f"{IMDB} --patience 2 --validation-split 0", "Received: patience=2."),
        (
            f"{IMDB} --validation {sample.REVIEWS_TEST} --validation-split 0.2",
            "validation_split=0.2 and a file",
        ),
    ],
)
def test_bad_options(tmp_path, fail, words, part):
    words = words.format(folder=tmp_path).split()
    line = fail(*finetune("albert_nano_en", *words, "--run", tmp_path / "run"))
    assert part in line
    assert not (tmp_path / "run").exists()
