"""Classification and regression of texts: labels, weights, scores, GLUE's files."""

import dataclasses

import numpy as np
import pytest

from albert_keras.runs.predictions import mistakes_of
from albert_keras.tasks import TextClassificationTask, TextRegressionTask
from albert_keras.tasks.text_classification.glue_predictions import (
    GLUE_ANSWERS,
    write_glue_predictions,
)
from albert_keras.tasks.text_classification.reading import Columns, LabelledTexts
from tests.tasks.task_checks import LENGTH, make_backbone, run_task_test, with_length

TEXTS = [
    *("the soup was warm and very good", "the film was long and dull"),
    *("a walk by the river", "good bread and a good cheese", "dull and cold"),
    *("the boat went down the river to the sea", "long"),
]
LABELS = ["good", "bad", "river", "good", "bad", "river", "bad"]
ROWS = LabelledTexts(TEXTS, LABELS)


@pytest.mark.slow
def test_single_texts(tokenizer, tmp_path):
    task, prepared, _, logits = run_task_test(
        TextClassificationTask(), ROWS, tokenizer, tmp_path
    )
    assert task.labels == ("bad", "good", "river")
    scores = task.score(prepared, logits)
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = [task.labels.index(label) for label in LABELS]
    loss = -log_probs[np.arange(7), expected].mean()
    assert scores["loss"] == pytest.approx(loss, rel=1e-4)
    assert scores["majority_accuracy"] == pytest.approx(3 / 7)
    assert (scores["num_predicted_labels"], scores["num_ties"]) == (3, 0)
    matrix = task.report(prepared, logits)["confusion_matrix"]
    assert np.array_equal(matrix, np.diag([3, 2, 2]))
    (row, *_) = task.describe(prepared, logits)
    assert (row["text"], row["label"]) == (TEXTS[0], "good")
    assert list(row["probabilities"]) == ["bad", "good", "river"]
    assert sum(row["probabilities"].values()) == pytest.approx(1)
    assert mistakes_of(task, prepared, logits) == []
    wrong = logits.copy()
    wrong[5:] = [[1, 1, 0], [0, 0, 0]]
    assert task.score(prepared, wrong)["num_ties"] == 2
    wrong[5:] = logits[5:]
    # Other labels in place of what was learned, the second one surer.
    others = [(expected[row] + 1) % 3 for row in (1, 2)]
    wrong[1], wrong[2] = np.eye(3)[others[0]], 3 * np.eye(3)[others[1]]
    received = mistakes_of(task, prepared, wrong)
    for row, mistake in zip((2, 1), received, strict=True):
        found = [mistake[name] for name in ("text", "label", "prediction")]
        assert found == [TEXTS[row], LABELS[row], task.labels[others[row - 1]]]
    assert received[0]["probability"] == pytest.approx(np.exp(3) / (np.exp(3) + 2))


def test_notes_on_truncated_rows_and_labels(tokenizer):
    task = with_length(TextClassificationTask()).for_run(ROWS, tokenizer)
    rows = LabelledTexts([*TEXTS[:3], " ".join(TEXTS) * 2], None)
    (line,) = task.notes(task.prepare(rows))
    assert line.startswith(
        f"25.0% of the rows fill {LENGTH} tokens or were cut: --long-"
    )
    (line,) = task.notes(task.prepare(ROWS))
    assert line == "labels: 'bad' 3, 'good' 2, 'river' 2"


def test_balanced_class_weights(tokenizer):
    task = with_length(TextClassificationTask(class_weights="balanced"))
    task = task.for_run(ROWS, tokenizer)
    arrays = task.prepare(ROWS, training=True).examples.example_arrays
    totals = np.bincount(arrays["labels"], arrays["label_weights"])
    np.testing.assert_allclose(totals, 7 / 3, rtol=1e-6)
    _, y, weights = next(iter(task.make_dataset(task.prepare(ROWS, training=True), 3)))
    assert weights.shape == y.shape
    assert "label_weights" not in task.prepare(ROWS).examples.example_arrays


@pytest.mark.parametrize(
    "weights",
    [{"bad": -1.0}, {"bad": "2"}, {"fine": 1.0}, dict.fromkeys({*LABELS}, 0.0)],
)
def test_class_weights_that_cannot_be(tokenizer, weights):
    task = with_length(TextClassificationTask(class_weights=weights))
    with pytest.raises(
        ValueError, match="for the labels bad, good, river, and not all"
    ):
        task.for_run(ROWS, tokenizer).prepare(ROWS, training=True)


def test_prior_loss_is_the_least_loss_of_a_constant_answer(tokenizer):
    task = with_length(TextClassificationTask(class_weights={"bad": 3.0}))
    task = dataclasses.replace(task, label_smoothing=0.2).for_run(ROWS, tokenizer)
    prepared = task.prepare(ROWS, training=True)
    arrays = prepared.examples.example_arrays
    loss = task.losses()

    def loss_of(shares):
        logits = np.tile(np.log(shares), (7, 1)).astype(np.float32)
        values = loss.call(arrays["labels"], logits)
        return np.average(np.array(values), weights=arrays["label_weights"])

    draws = np.random.default_rng(3).dirichlet([8, 3, 3], 300)
    least = min(loss_of(shares) for shares in draws)
    assert task.prior_loss(prepared) == pytest.approx(least, rel=0.01)
    assert task.prior_loss(prepared) <= least + 1e-6


def test_one_label_is_refused(tokenizer):
    with pytest.raises(ValueError, match="two labels. Received: labels=x"):
        TextClassificationTask().for_run(LabelledTexts(["a"], ["x"]), tokenizer)


# === What tasks on texts share: long texts, columns, predictions on strings ===


def test_windows_of_a_long_text_are_averaged(tokenizer):
    long = " ".join(TEXTS) * 3
    task = with_length(TextClassificationTask(long_texts="windows"))
    task = task.for_run(ROWS, tokenizer)
    model = task.build_model(make_backbone())
    rows = LabelledTexts([TEXTS[0], long, TEXTS[2]], ["good", "bad", "river"])
    prepared = task.prepare(rows, training=True)
    assert prepared.examples.num_examples == len(prepared.details) > 5
    assert set(prepared.details) == {0, 1, 2}
    labels = prepared.examples.example_arrays["labels"]
    assert labels.tolist() == [(1, 0, 2)[row] for row in prepared.details.tolist()]
    logits = task.predict(model, prepared, 2)
    alone = task.example_outputs(model, prepared.examples, 50)
    windows = alone[prepared.details == 1]
    np.testing.assert_allclose(logits[1], windows.mean(axis=0), atol=1e-5)
    assert task.score(prepared, logits)["num_examples"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"long_texts": "middle"}, "one of head, tail, .* Received: .*'middle'"),
        ({"long_texts": "tail", "columns": Columns(pair="b")}, "pairs.*_texts='tail'"),
        ({"columns": Columns(label_separator=";")}, "several labels a row.*or=';'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        TextClassificationTask(**options)


def test_predictions_on_strings_equal_those_on_prepared_rows(tokenizer):
    task = with_length(TextClassificationTask()).for_run(ROWS, tokenizer)
    model = task.servable(task.build_model(make_backbone()))
    texts = [*TEXTS, " ".join(TEXTS) * 2]
    prepared = task.prepare(LabelledTexts(texts, None))
    expected = task.predict(model, prepared, 3)
    np.testing.assert_allclose(model.predict(texts, verbose=0), expected, atol=2e-5)
    windows = dataclasses.replace(task, long_texts="windows")
    assert windows.servable(task.build_model(make_backbone())).preprocessor is None


def test_other_columns_keep_the_rest():
    own = Columns("a", "b", header=("x",), skips_broken=True)
    task = TextClassificationTask(columns=own, tfds_columns=Columns("d"))
    task = task.with_columns(label="c", pair="e")
    expected = Columns("a", "c", "e", header=("x",), skips_broken=True)
    assert (task.columns, task.tfds_columns) == (expected, Columns("d", "c", "e"))


# === Regression of pairs of texts ===


@pytest.mark.slow
def test_regression_of_pairs_whose_second_text_decides(tokenizer, tmp_path):
    labels = ["0.5", "1", "2.25", "3", "0", "4"]
    rows = LabelledTexts(TEXTS[:6], labels, TEXTS[1:])
    task = TextRegressionTask(columns=Columns(pair="text_pair"))
    task, prepared, model, scores = run_task_test(
        task, rows, tokenizer, tmp_path, learned=("pearson", 0.97)
    )
    results = task.score(prepared, scores)
    assert results["prior_loss"] == pytest.approx(np.var(np.float32(labels)))
    assert results["spread"] == pytest.approx(np.ptp(scores))
    assert task.prior_loss(prepared) == pytest.approx(results["prior_loss"])
    described = task.describe(prepared, scores)
    assert list(described[0]) == ["text", "text_pair", "score"]
    task.write_submission(tmp_path / "STS-B.tsv", prepared, scores)
    written = (tmp_path / "STS-B.tsv").read_text().split()
    assert [float(cell) for cell in written[3::2]] == pytest.approx(
        np.clip(scores[:, 0], 0, 5), abs=5e-4
    )
    swapped = rows._replace(texts=rows.pairs, pairs=rows.texts)
    others = task.predict(model, task.prepare(swapped), 4)
    assert np.abs(others - scores).max() > 1e-3
    typed = task.rows_of([rows.texts[2], rows.pairs[2]])
    assert typed == (rows.texts[2:3], None, rows.pairs[2:3], 0)
    with pytest.raises(ValueError, match="text and text_pair.*Received: .'one'"):
        task.rows_of(["one"])


# === Prediction files of GLUE, byte by byte, and what its server would refuse ===


def test_files_of_a_glue_submission(tmp_path):
    for task_name, answers in GLUE_ANSWERS.items():
        predictions = answers or np.float32([-0.2, 3.14159, 5.5])
        write_glue_predictions(tmp_path / f"{task_name}.tsv", predictions)
    assert len(list(tmp_path.iterdir())) == 11
    contents = {path.stem: path.read_bytes() for path in tmp_path.iterdir()}
    three = b"index\tprediction\n0\tentailment\n1\tneutral\n2\tcontradiction\n"
    assert contents["MNLI-mm"] == contents["MNLI-m"] == contents["AX"] == three
    assert contents["QNLI"] == b"index\tprediction\n0\tentailment\n1\tnot_entailment\n"
    assert contents["CoLA"] == b"index\tprediction\n0\t0\n1\t1\n"
    assert contents["STS-B"] == b"index\tprediction\n0\t0.000\n1\t3.142\n2\t5.000\n"


@pytest.mark.parametrize(
    ("name", "predictions", "message"),
    [
        ("RTE.tsv", ["entailment", "1"], "RTE must be one of .* '1' for row 1"),
        ("SST-2.tsv", np.ones(3), "SST-2 must be one of 0, 1. Received: .*1.0"),
        ("STS-B.tsv", ["0", "1"], "numbers of a regression. Received: labels, .* '0'"),
    ],
)
def test_predictions_that_the_server_would_refuse(tmp_path, name, predictions, message):
    with pytest.raises(ValueError, match=message):
        write_glue_predictions(tmp_path / name, predictions)
    assert list(tmp_path.iterdir()) == []
