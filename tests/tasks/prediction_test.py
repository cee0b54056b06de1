"""Answers and tags of raw text, equal to those of a fine-tuning task."""

import keras
import numpy as np
import pytest

import albert_keras as ak
from albert_keras import sample
from albert_keras.preprocessors import (
    AlbertTextClassifierPreprocessor,
    AlbertTokenClassifierPreprocessor,
)
from albert_keras.preprocessors.tagged_words import words_of
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks import TASKS
from albert_keras.tasks.masked_words import fill_mask
from albert_keras.tasks.prediction import answer_questions, tag_words, task_of
from tests.helpers import max_difference
from tests.tasks.task_checks import LENGTH, make_backbone

CONTEXTS = [sample.CORPUS.read_text("utf-8")[:400], "Ann wrote it."]
QUESTIONS = ["Who came?", "Who wrote it?"]


@pytest.mark.parametrize("head", ["plain", "joint"])
def test_answers_to_questions_on_long_texts(head, tokenizer):
    joint = head == "joint"
    cls = ak.AlbertJointQuestionAnswerer if joint else ak.AlbertQuestionAnswerer
    model = cls(make_backbone())
    model.preprocessor = cls.preprocessor_cls(
        tokenizer, LENGTH, doc_stride=7, max_question_length=8
    )
    answers = answer_questions(model, QUESTIONS, CONTEXTS, max_answer_length=4)
    for answer, context in zip(answers, CONTEXTS, strict=True):
        best = answer["candidates"][0]
        assert best["text"] == answer["answer"]
        assert context[best["start"] :].startswith(best["text"])
    # Answers may be anywhere in a context of several windows.
    assert max(c["start"] for c in answers[0]["candidates"]) > len(CONTEXTS[0]) / 2
    threshold = min(answer["null_score"] for answer in answers) - 1
    unanswered = answer_questions(model, QUESTIONS, CONTEXTS, null_threshold=threshold)
    assert [answer["answer"] for answer in unanswered] == ["", ""]


def test_tags_of_all_words(tokenizer):
    labels = ["B-PER", "I-PER", "O"]
    model = ak.AlbertTokenClassifier(make_backbone(), 3, labels=labels)
    model.preprocessor = AlbertTokenClassifierPreprocessor(tokenizer, LENGTH)
    words = words_of(CONTEXTS[0])
    rows = tag_words(model, [CONTEXTS[0], ["Ann", "\x07", "wrote"]])
    tags = [row["tags"] for row in rows]
    assert rows[0]["words"] == words
    assert words[-2].isalpha()  # The rest is punctuation.
    assert rows[0]["entities"]
    for row in rows:
        for entity in row["entities"]:
            assert row["text"][entity["start"] : entity["end"]] == entity["text"]
            assert 1 / 3 < entity["score"] < 1
    # A word without tokens.
    assert tags[1][1] == "O"
    features = model.preprocessor([words])
    weights = model.preprocessor([words], [[0] * len(words)])[2]
    first = np.argmax(np.array(model(features)), axis=-1)[0][weights[0] > 0]
    assert tags[0][: len(first)] == [labels[tag] for tag in first]


def test_softmax_probabilities_are_taken_as_logits(tokenizer):
    keras.utils.set_random_seed(3)
    model = ak.AlbertTextClassifier(make_backbone(), 3, activation="softmax")
    model.preprocessor = AlbertTextClassifierPreprocessor(tokenizer, LENGTH)
    run = LoadedModel(task_of(model), model)
    (row,) = run.predict(QUESTIONS[:1])
    expected = np.array(model(model.preprocessor(QUESTIONS[:1])))[0]
    assert [*row["probabilities"].values()] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("num_classes", [3, 1])
def test_a_classifier_takes_texts_or_pairs(num_classes, tokenizer):
    model = ak.AlbertTextClassifier(make_backbone(), num_classes)
    model.preprocessor = AlbertTextClassifierPreprocessor(tokenizer, LENGTH)
    run = LoadedModel(task_of(model), model)
    texts, others = QUESTIONS[:2], CONTEXTS[:2]
    others[1] = ""  # An empty text is one.
    pairs = [*zip(texts, others, strict=True)]
    named = [{"text": a, "text_pair": b, "label": "x"} for a, b in pairs]
    for samples in (pairs, [*map(list, pairs)], named, texts):
        prepared = run.task.prepare(run.task.rows_of(samples))
        x = (texts,) if samples is texts else (texts, others)
        expected = np.array(model(model.preprocessor(x=x)))
        received = run.task.predict(model, prepared, 2)
        assert max_difference(received, expected) < 1e-5
    with pytest.raises(ValueError, match="all samples must have a second text"):
        run.predict([pairs[0], texts[1]])


def test_other_models_and_single_texts_are_refused():
    tagger = ak.AlbertTokenClassifier(make_backbone(), 3)
    for call in (
        lambda: answer_questions(tagger, QUESTIONS, CONTEXTS),
        lambda: tag_words(tagger.backbone, QUESTIONS),
        lambda: fill_mask(tagger, QUESTIONS),
    ):
        with pytest.raises(TypeError, match="must be one of Albert.* Received: Albert"):
            call()
    with pytest.raises(TypeError, match="predicts from text. Received: AlbertBackbone"):
        task_of(tagger.backbone)
    answerer = ak.AlbertQuestionAnswerer(tagger.backbone)
    with pytest.raises(ValueError, match="Received: 2 questions and 1 contexts"):
        answer_questions(answerer, QUESTIONS, CONTEXTS[:1])
    for call in (
        lambda: answer_questions(answerer, "Who?", CONTEXTS),
        lambda: answer_questions(answerer, QUESTIONS, "Ann."),
        *(lambda name=name: TASKS[name].rows_of("Ann") for name in ("imdb", "squad")),
        lambda: TASKS["tagging"].rows_of("Ann"),
    ):
        with pytest.raises(TypeError, match="must be a list. Received: .*, a str"):
            call()


def test_a_preprocessor_is_needed():
    model = ak.AlbertTokenClassifier(make_backbone(), 3)
    with pytest.raises(ValueError, match="a tokenizer.*AlbertTokenClassifierPrep"):
        tag_words(model, ["a"])
