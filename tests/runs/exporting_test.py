"""Export of runs, and exported files scored like their run."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.export import export_tflite
from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from albert_keras.runs import RowOptions, evaluate_run, export_run, predict_with_run
from albert_keras.tokenizers import load_tokenizer
from tests.cli.conftest import VOCABULARY_SIZE
from tests.export.text.conftest import approximately
from tests.helpers import max_difference
from tools.verify_conversion import random_inputs


@pytest.mark.slow
def test_a_tagger_of_mixed_precision(finish, tmp_path):
    folder, model = finish("tagging", "mixed_bfloat16")
    path = tmp_path / "exported"
    results = export_run(folder, path, inputs="ids")
    sizes = [file.stat().st_size for file in path.rglob("*") if file.is_file()]
    assert results["bytes"] == sum(sizes)
    inputs = random_inputs(model, seed=3)
    served = tf.saved_model.load(str(path)).signatures["serving_default"]
    outputs = served(**{name: tf.constant(value) for name, value in inputs.items()})
    # bfloat16 has 8 bits.
    assert max_difference(outputs["logits"], model(inputs)) < 0.05
    best = outputs["logits"].numpy().argmax(-1)
    assert (outputs["label"].numpy() == np.array([b"B-PER", b"O"])[best]).all()
    assert (path / "assets.extra" / "labels.txt").read_text() == "B-PER\nO"
    beside = type(model.preprocessor).from_preset(path / "assets.extra")
    assert beside.sequence_length == 17
    assert beside.tokenizer("Ann sang") == model.preprocessor.tokenizer("Ann sang")


@pytest.mark.slow
def test_answers_of_text_are_those_of_the_run(finish, tmp_path):
    folder, _ = finish("squad", doc_stride=3, max_question_length=5)
    export_run(folder, tmp_path / "out")
    data = tmp_path / "questions.json"
    paragraph = {
        "context": "The storms came in 2012, and the gulls went out to sea. " * 3,
        "qas": [{"id": "a", "question": "who came in the year 2012?"}],
    }
    data.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    (expected,) = predict_with_run(folder, data=data)
    (received,) = predict_with_run(tmp_path / "out", data=data)
    assert received == approximately(expected)
    (tmp_path / "out" / "fingerprint.pb").write_bytes(b"damaged")
    with pytest.raises(RuntimeError, match=r"read fingerprint from .*out"):
        predict_with_run(tmp_path / "out", data=data)


def test_what_cannot_take_text_is_refused(finish, tmp_path):
    facts = {"labels": ("no", "yes")}
    folder, _ = finish("text-classification", facts=facts, long_texts="windows")
    message = "AlbertTextClassifier trained with --long-texts windows. Export .* with"
    out = tmp_path / "out"
    with pytest.raises(ValueError, match=message):
        export_run(folder, out)
    with pytest.raises(ValueError, match="one of None, bfloat16. .*int8"):
        export_run(folder, out, inputs="ids", quantization="int8")
    with pytest.raises(ValueError, match="onnx. Received: quantization='int8'"):
        export_run(folder, out, "onnx", quantization="int8")
    with pytest.raises(ValueError, match="serving. Received: batch_size=1, names='hu"):
        export_run(folder, out, "serving", batch_size=1, names="huggingface")
    assert not out.exists()


# === Exported models of several labels a row and of regression, scored like their run ===


TEXTS = ["the soup was warm", "a long dull film", "the sea", "bread and cheese"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_classes", "activation", "labels"),
    [(3, "sigmoid", ["0;2"] * 4), (1, None, [0.5, 3.0, 2.25, 4.0])],
)
def test_scores_of_an_exported_model(
    vocabulary, tmp_path, num_classes, activation, labels
):
    preprocessor = AlbertTextClassifierPreprocessor(
        load_tokenizer(vocabulary), sequence_length=13
    )
    backbone = AlbertBackbone.from_config_preset(
        "albert_test", vocabulary_size=VOCABULARY_SIZE, initializer_range=0.3
    )
    model = AlbertTextClassifier(
        backbone, num_classes, preprocessor, activation=activation
    )
    path, table = tmp_path / "model.tflite", tmp_path / "rows.csv"
    export_tflite(model, path)
    expected = model.predict(TEXTS, verbose=0)
    rows = zip(TEXTS, labels, strict=True)
    header = "text,labels\n" if activation else "text,label\n"
    table.write_text(header + "".join(f"{a},{b}\n" for a, b in rows))
    reading = RowOptions(label_separator=";" if activation else None)
    scores = evaluate_run(path, table, reading=reading)
    row = predict_with_run(path, data=table, reading=reading)[1]
    if not activation:
        pearson = np.corrcoef(expected[:, 0], labels)[0, 1]
        assert scores["pearson"] == pytest.approx(pearson, abs=1e-4)
        assert row["score"] == pytest.approx(expected[1, 0], abs=1e-5)
        return
    targets = np.array([True, False, True])
    right = ((expected > 0.5) == targets).all(axis=1)
    assert scores["subset_accuracy"] == pytest.approx(right.mean())
    of_target = np.where(targets, expected, 1 - expected)
    assert scores["loss"] == pytest.approx(-np.log(of_target).mean(), rel=1e-4)
    # The classes have no names.
    probabilities = dict(zip("012", expected[1], strict=True))
    assert row["probabilities"] == pytest.approx(probabilities, abs=1e-5)
    assert row["labels"] == [label for label in "012" if probabilities[label] > 0.5]
    # A table with the column of second texts.
    expected = model.predict((TEXTS, TEXTS[::-1]), verbose=0)
    pairs = zip(TEXTS, TEXTS[::-1], strict=True)
    table.write_text("text,text_pair\n" + "".join(f"{a},{b}\n" for a, b in pairs))
    row = predict_with_run(path, data=table)[1]
    assert row["text_pair"] == TEXTS[2]
    assert [*row["probabilities"].values()] == pytest.approx(expected[1], abs=1e-5)
