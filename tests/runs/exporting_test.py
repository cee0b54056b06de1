"""Export of runs: every task by ids, in float32, with what a program needs beside."""

import json

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models.copies import in_precision
from albert_keras.runs import export_run, load_run, predict_with_run
from albert_keras.runs.inference import LoadedModel
from tests.export.text.conftest import approximately
from tests.helpers import max_difference
from tools.verify_conversion import random_inputs

TAGGED = "Ann B-PER\nsang O\n\nThe O\nboat O\n"


def served(path, inputs):
    """Returns the outputs of a SavedModel for a dict of arrays."""
    signature = tf.saved_model.load(str(path)).signatures["serving_default"]
    return signature(**{name: tf.constant(value) for name, value in inputs.items()})


@pytest.mark.slow
def test_a_tagger_of_mixed_precision(finish, tmp_path):
    folder, model = finish("tagging", "mixed_bfloat16")
    path = tmp_path / "exported"
    results = export_run(folder, path, inputs="ids")
    sizes = [file.stat().st_size for file in path.rglob("*") if file.is_file()]
    assert results["bytes"] == sum(sizes)
    inputs = random_inputs(model, seed=3)
    outputs = served(path, inputs)
    # bfloat16 has 8 bits.
    assert max_difference(outputs["logits"], model(inputs)) < 0.05
    best = outputs["logits"].numpy().argmax(-1)
    assert (outputs["label"].numpy() == np.array([b"B-PER", b"O"])[best]).all()
    assert (path / "assets.extra" / "labels.txt").read_text() == "B-PER\nO"
    beside = type(model.preprocessor).from_preset(path / "assets.extra")
    assert beside.sequence_length == 17
    assert beside.tokenizer("Ann sang") == model.preprocessor.tokenizer("Ann sang")


@pytest.mark.slow
def test_questions_in_tflite(finish, tmp_path):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    folder, model = finish(
        "squad2", "mixed_bfloat16", doc_stride=3, max_question_length=5
    )
    export_run(folder, tmp_path / "out.tflite", "tflite")
    runner = interpreter.Interpreter(str(tmp_path / "out.tflite"))
    # Training alone knows where an answer starts.
    search = in_precision(model).beam_model()
    inputs = random_inputs(search, seed=3)
    received = runner.get_signature_runner("serving_default")(**inputs)
    assert max_difference(received, dict(search(inputs))) < 1e-4
    pair = "who came in 2012?", "The storms came in 2012, and the gulls left."
    (expected,) = LoadedModel(load_run(folder).task, in_precision(model)).predict(
        [pair]
    )
    assert predict_with_run(tmp_path / "out.tflite", pair) == [approximately(expected)]


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


def test_what_cannot_take_text_is_refused(finish, tmp_path):
    facts = {"labels": ("no", "yes")}
    folder, _ = finish("text-classification", facts=facts, long_texts="windows")
    message = "AlbertTextClassifier trained with --long-texts windows. Export it with"
    with pytest.raises(ValueError, match=message):
        export_run(folder, tmp_path / "out")
    with pytest.raises(ValueError, match="one of None, bfloat16. .*int8"):
        export_run(folder, tmp_path / "out", inputs="ids", quantization="int8")
    with pytest.raises(
        ValueError, match="ONNX model .*: format=onnx, quantization=int8"
    ):
        export_run(folder, tmp_path / "out", "onnx", quantization="int8")
    with pytest.raises(ValueError, match=": format=serving, batch_size=1, names=hugg"):
        export_run(
            folder, tmp_path / "out", "serving", batch_size=1, names="huggingface"
        )
    assert not (tmp_path / "out").exists()
