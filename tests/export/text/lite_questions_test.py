"""Questions in TFLite, against `answer_questions` and against the windows of Python."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.export import export_tflite, load_exported
from albert_keras.export.text.lite_questions import LiteQuestions, Windows
from albert_keras.models import AlbertJointQuestionAnswerer, AlbertQuestionAnswerer
from albert_keras.tasks.prediction import answer_questions, task_of
from tests.export.text import questions_test
from tests.export.text.conftest import approximately
from tests.export.text.windows_test import LENGTHS, SEQUENCE_LENGTH, made

# A Greek final sigma has other ids than in Python.
PAIRS = [
    tuple(text.replace("Σ ", "Α ") for text in pair) for pair in questions_test.PAIRS
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [AlbertQuestionAnswerer, AlbertJointQuestionAnswerer])
def test_answers_are_those_of_the_model(kind, backbone, tokenizer, tmp_path):
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    tf_text = pytest.importorskip("tensorflow_text")
    preprocessor = kind.preprocessor_cls(
        tokenizer, sequence_length=19, doc_stride=5, max_question_length=6
    )
    model = kind(backbone, preprocessor)
    questions, contexts = map(list, zip(*PAIRS, strict=True))
    answers = answer_questions(model, questions, contexts, max_answer_length=7)
    threshold = float(np.median([row["null_score"] for row in answers])) + 1e-4
    task = dataclasses.replace(
        task_of(model), max_answer_length=7, null_threshold=threshold
    )
    export_tflite(model, tmp_path / "model", tokenizer=tokenizer, task=task)
    expected = answer_questions(
        model, questions, contexts, max_answer_length=7, null_threshold=threshold
    )
    predictor = load_exported(tmp_path / "model")
    received = predictor.predict(PAIRS, 4)
    names = ("answer", "null_score", "candidates")
    received = [{name: row[name] for name in names} for row in received]
    assert received == approximately(expected)

    # What a program without Python reads.
    interpreter = litert.InterpreterWithCustomOps(
        custom_op_registerers=tf_text.tflite_registrar.SELECT_TFTEXT_OPS,
        model_path=str(tmp_path / "model"),
    )
    interpreter.allocate_tensors()
    serve = interpreter.get_signature_runner("serving_default")
    for (question, context), row in zip(PAIRS, expected, strict=True):
        outputs = serve(
            question=np.array([question], object), context=np.array([context], object)
        )
        ids = tokenizer.encode_batch([context])[0]
        tokens = [token.decode() for token in outputs["tokens"]]
        assert tokens == [tokenizer.id_to_token(index) for index in ids]
        assert outputs["num_answers"].tolist() == [int(row["answer"] != "")]
        assert (len(outputs["first"]) > 0) == bool(row["candidates"])
        if context.isascii() and row["candidates"]:
            span = slice(outputs["first"][0], outputs["last"][0] + 1)
            text = "".join(tokens[span]).replace("▁", " ")
            # Python extends it to whole words.
            best = row["candidates"][0]["text"].lower()
            assert "".join(text.split()) in "".join(best.split())
    assert {bool(row["answer"]) for row in expected} == {True, False}


@pytest.mark.parametrize("doc_stride", [1, 3, 8, 30])
def test_windows_and_the_tokens_with_most_context(doc_stride, tokenizer):
    pairs = [("", "gulls and storms " * 7), ("who counts?", "the sea"), ("who?", "")]
    pairs += [("where are the boats?", "the gulls count " * size) for size in (2, 7)]
    _, windows, _ = made(tokenizer, pairs, doc_stride=doc_stride)
    num_neighbours = (SEQUENCE_LENGTH - 4) // doc_stride
    number = 0
    for question, context in pairs:
        asked = min(LENGTHS["max_question_length"], len(tokenizer.tokenize(question)))
        room = SEQUENCE_LENGTH - 3 - asked
        sizes = len(tokenizer.tokenize(context)), room, min(doc_stride, room)
        received = Windows(*map(tf.constant, sizes))
        for window in range(int(received.count())):
            begin, end = windows.examples.offsets[number : number + 2].tolist()
            # Without [CLS], the question and two [SEP].
            begin, end = begin + 2 + asked, end - 1
            assert int(received.length(window)) == end - begin
            inside = tf.range(end - begin)
            is_max = received.have_max_context(window, inside, num_neighbours)
            assert (is_max.numpy() == windows.is_max_context[begin:end]).all()
            number += 1
    assert number == windows.examples.num_examples


def test_a_diverged_model_is_an_error():
    row = {name: np.zeros(2) for name in ("first", "last", "scores")}
    row["null_score"] = np.array([np.nan])
    with pytest.raises(ValueError, match="probably diverged.*score of nan"):
        LiteQuestions().answer(lambda **_: row, ["who?"], ["the sea"])
