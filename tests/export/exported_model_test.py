"""Exported models with their tokenizer and task beside them, against Keras models."""

import functools
import json

import keras
import numpy as np
import pytest

from albert_keras.export import (
    export_onnx,
    export_saved_model,
    export_tflite,
    load_exported,
)
from albert_keras.export.exported_model import load_beside
from albert_keras.models import (
    AlbertJointQuestionAnswerer,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.preprocessors import (
    AlbertJointQuestionAnswererPreprocessor,
    AlbertMultipleChoicePreprocessor,
    AlbertPretrainerPreprocessor,
    AlbertQuestionAnswererPreprocessor,
    AlbertTokenClassifierPreprocessor,
)
from albert_keras.runs import evaluate_run, predict_with_run
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks import Recipe, TextClassificationTask
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.prediction import task_of
from tests.export.text.conftest import (
    STRANGE,
    STRANGE_QUESTIONS,
    approximately,
    long_context,
)

WINDOWS = {"sequence_length": 19, "doc_stride": 5, "max_question_length": 6}
QUESTIONS = [("who counts?", long_context(31)), *STRANGE_QUESTIONS]


def answers_of(model, task, samples):
    return LoadedModel(task, model).predict(samples, 3)


@pytest.fixture(scope="module")
def tagger(backbone, tokenizer):
    keras.utils.set_random_seed(5)
    preprocessor = AlbertTokenClassifierPreprocessor(tokenizer, sequence_length=13)
    labels = ["O", "B-PER", "I-PER", "I-LOC"]
    return AlbertTokenClassifier(backbone, 4, preprocessor, labels=labels)


@pytest.fixture(params=["onnx", "saved_model", "tflite"])
def export_ids(request):
    """Function that exports a model of ids in a format."""
    if request.param == "onnx":
        pytest.importorskip("tf2onnx")
        return export_onnx
    if request.param == "tflite":
        pytest.importorskip("ai_edge_litert")
        return export_tflite
    return functools.partial(export_saved_model, tokenizer=None)


@pytest.mark.slow
def test_tags_are_those_of_the_model_and_evaluated(tagger, export_ids, tmp_path):
    samples = ["storms and the gulls " * 11, ["New York", "", "\0"], *STRANGE[2:]]
    export_ids(tagger, tmp_path / "model")
    expected = answers_of(tagger, task_of(tagger), samples)
    received = load_exported(tmp_path / "model").predict(samples, 3)
    assert received == approximately(expected)
    rows = tmp_path / "rows.txt"
    rows.write_text("The O\nbaker B-PER\n\nstorms O\n")
    prepared = task_of(tagger).prepare(task_of(tagger).read(rows))
    scores = task_of(tagger).evaluate(tagger, prepared, 3)
    assert evaluate_run(tmp_path / "model", rows) == approximately(scores)


@pytest.mark.slow
def test_choices_and_answers_are_those_of_the_model(
    backbone, tokenizer, export_ids, tmp_path
):
    choices = AlbertMultipleChoice(
        backbone, AlbertMultipleChoicePreprocessor(tokenizer, sequence_length=17)
    )
    joint = AlbertJointQuestionAnswerer(
        backbone, AlbertJointQuestionAnswererPreprocessor(tokenizer, **WINDOWS)
    )
    asked = [("the storms " * 9, "who _ it?", ["a b", "gulls", ""])]
    asked += [(text, text, [text, "a", "the gulls"]) for text in STRANGE]
    for number, (model, samples) in enumerate([(choices, asked), (joint, QUESTIONS)]):
        path = tmp_path / str(number)
        export_ids(model, path)
        expected = answers_of(model, task_of(model), samples)
        assert load_exported(path).predict(samples, 3) == approximately(expected)


@pytest.mark.slow
def test_tflite_fills_masks_and_answers_like_the_model(backbone, tokenizer, tmp_path):
    pytest.importorskip("ai_edge_litert")
    plain = AlbertQuestionAnswerer(
        backbone, AlbertQuestionAnswererPreprocessor(tokenizer, **WINDOWS)
    )
    # A processor may need rows of one length.
    export_tflite(plain, tmp_path / "squad", sequence_length=19)
    expected = answers_of(plain, task_of(plain), QUESTIONS)
    received = predict_with_run(tmp_path / "squad", QUESTIONS)
    assert received == approximately(expected)

    preprocessor = AlbertPretrainerPreprocessor(tokenizer)
    model = AlbertPretrainer(backbone, preprocessor=preprocessor)
    export_tflite(model, tmp_path / "masks")
    texts = ["the [MASK] counts [MASK]", *(f"{text[:9]} [MASK]" for text in STRANGE)]
    predictor = load_exported(tmp_path / "masks")
    expected = answers_of(model, MaskedWordsTask(tokenizer), texts)
    assert predictor.predict(texts, 3) == approximately(expected)
    with pytest.raises(ValueError, match="must have at most 19 tokens. Received: 4"):
        predictor.predict(["[MASK] " * 41])


@pytest.mark.slow
def test_windows_of_long_texts_are_averaged(backbone, tokenizer, export_ids, tmp_path):
    model = AlbertTextClassifier(backbone, 3, labels=["a", "b", "c"])
    task = TextClassificationTask(
        recipe=Recipe(sequence_length=7),
        long_texts="windows",
        labels=("a", "b", "c"),
        tokenizer=tokenizer,
    )
    export_ids(model, tmp_path / "model", task=task)
    texts = ["storms and the gulls " * 5, "", "the baker"]
    received = load_exported(tmp_path / "model").predict(texts)
    assert received == approximately(answers_of(model, task, texts))


@pytest.fixture
def model_of_text(tmp_path):
    """Function that loads a model of texts by what computes its outputs."""

    def load(call, inputs=("text",), labels="a\nb\nc"):
        if labels is not None:
            (tmp_path / "labels.txt").write_text(labels)
        inputs = dict.fromkeys(inputs)
        return load_beside(tmp_path, tmp_path, lambda x: call(*x.values()), inputs)

    return load


def test_samples_must_be_texts(model_of_text):
    predict = model_of_text(call=None).predict
    with pytest.raises(TypeError, match="Received: samples='one text'"):
        predict("one text")
    for samples, message in (
        ([1, 2], "must have text, in a tuple or a dict. Received: 1"),
        ([b"bytes"], "Received: b'bytes'"),
        ([], r"Received: samples=\[\]"),
        (["a\ud83d"], "lone surrogates. Received: .*character 1 of"),
        ([("one", "two")], "takes single texts. Received: pairs"),
    ):
        with pytest.raises(ValueError, match=message):
            predict(samples)
    with pytest.raises(ValueError, match="`batch_size`.*Received: .*0"):
        predict(["a"], batch_size=0)


def test_there_is_a_label_for_each_class(model_of_text):
    def call(texts):
        return {"probabilities": np.array([[0.1, 0.7, 0.2]] * len(texts))}

    outputs = model_of_text(call).predict(["x", "y"])
    assert outputs["label"].tolist() == ["b", "b"]
    with pytest.raises(ValueError, match="Received: 1 labels, 3 classes"):
        model_of_text(call, labels="a").predict(["x"])


def test_answers_to_rows_are_those_of_a_run(model_of_text):
    probabilities = np.array([[0.25, 0.5, 0.25]], np.float32)

    def predict(outputs, labels=None):
        model = model_of_text(lambda texts: outputs, labels=labels)
        task, predictions, depths = model.predict_rows(model.task.rows_of(["x"]), 3)
        assert depths is None
        return task.described(predictions)

    # The probability of a sigmoid's only class.
    assert predict({"probabilities": probabilities[:, :1]}) == {"score": [0.25]}
    with pytest.raises(ValueError, match="one that gives pooled_output"):
        predict({"pooled_output": probabilities})
    # Classes without names have numbers.
    described = predict({"probabilities": probabilities})
    assert described["label"] == ["1"]
    shares = {"0": 0.25, "1": 0.5, "2": 0.25}
    assert described["probabilities"] == [pytest.approx(shares)]
    assert predict(
        {"logits": probabilities, "probabilities": probabilities}, "a\nb\nc"
    )["label"] == ["b"]


def test_texts_of_similar_length_are_taken_together(model_of_text):
    calls = []

    def call(texts, others):
        calls.append(len(texts))
        lengths = np.array([[*map(len, texts)], [*map(len, others)]]).T
        return {"lengths": lengths, "sequence_output": lengths}

    model = model_of_text(call, inputs=("text", "text_pair"))
    pairs = [("a" * (700 if i % 3 else 7), "b" * i) for i in range(30)]
    outputs = model.predict(pairs, batch_size=6)
    assert outputs["lengths"].tolist() == [[len(a), len(b)] for a, b in pairs]
    # Those of all tokens take a thousand times as much memory.
    assert outputs.keys() == {"lengths"}
    # Many of the ten short texts, and few of the long ones.
    assert calls == [10, 4, 4, 4, 4, 4]
    assert "sequence_output" in model.predict(pairs, all_positions=True)


def test_answers_of_a_graph_of_text_are_described(tmp_path):
    def run(inputs, signature):
        assert signature == "serve_words"
        longest = max(map(len, inputs["words"]))
        words = [row + [""] * (longest - len(row)) for row in inputs["words"]]
        lengths = np.vectorize(len)(words)
        return {
            "tags": np.where(lengths > 1, "B-X", "O"),
            "probabilities": lengths / 100,
        }

    description = {"kind": "tagging", "labels": ["O", "B-X"], "default": "O"}
    (tmp_path / "served_task.json").write_text(json.dumps(description))
    with pytest.raises(ValueError, match="Received: .* with inputs text"):
        load_beside(tmp_path, tmp_path, run, {"text": ()})
    model = load_beside(tmp_path, tmp_path, run, {"text": ()}, ["serve_words"])
    assert model.task.labels == ("O", "B-X")
    rows = model.predict(["a bc", ["de", "f g", ""], "h" * 99], batch_size=2)
    (entity,) = rows[0]["entities"]
    assert entity.pop("score") == pytest.approx(0.02)
    assert entity == {"text": "bc", "type": "X", "start": 2, "end": 4}
    tags = [row["tags"] for row in rows]
    assert tags == [["O", "B-X"], ["B-X", "B-X", "O"], ["B-X"]]


def test_what_is_beside_a_model_is_checked(tokenizer, tmp_path):
    def load():
        return load_beside("a.onnx", tmp_path, None, {"token_ids": (None, None)})

    with pytest.raises(ValueError, match="path='a.onnx' with inputs token_ids. Export"):
        load()
    tokenizer.save_to_preset(str(tmp_path))
    file = tmp_path / "served_task.json"
    description = {"kind": "tagging", "labels": ["O"], "default": "O"}
    for ids, message in (
        ({"sequence_length": "19"}, "`sequence_length` must be .* Received: '19'"),
        ([], "`content` must be .* Received: "),
    ):
        file.write_text(json.dumps({**description, "ids": ids}))
        with pytest.raises(ValueError, match=message):
            load()
