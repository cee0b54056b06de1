"""Outputs of text signatures that answers do not show: places, padding and errors."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import (
    AlbertJointQuestionAnswerer,
    AlbertMaskedLM,
    AlbertMultipleChoice,
    AlbertTokenClassifier,
)
from albert_keras.preprocessors.tagged_words import words_of
from albert_keras.tasks.entities import find_entities
from albert_keras.tasks.masked_words import fill_mask
from albert_keras.tasks.prediction import answer_questions, tag_words, task_of
from tests.export.text.conftest import (
    LONG_SENTENCES,
    STRANGE,
    STRANGE_QUESTIONS,
    approximately,
    long_context,
)


@pytest.mark.slow
def test_choices_have_logits_and_a_label(backbone, tokenizer, serve):
    preprocessor = AlbertMultipleChoice.preprocessor_cls(tokenizer, sequence_length=19)
    model = AlbertMultipleChoice(backbone, preprocessor)
    task, (_, signatures) = task_of(model), serve(model)
    signature = signatures["serving_default"]
    outputs = signature(
        context=tf.constant(["the storms"]),
        question=tf.constant(["_"]),
        choices=tf.constant([["a", "b"]]),
    )
    prepared = task.prepare(task.rows_of([("the storms", "_", ["a", "b"])]))
    (row,) = task.describe(prepared, task.predict(model, prepared, 3))
    assert outputs["logits"].numpy()[0].tolist() == approximately(row["logits"])
    assert outputs["label"].numpy().tolist() == [row["label"].encode()]
    one = tf.constant(["a"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="from 2 to 26 choices"):
        signature(context=one, question=one, choices=tf.constant([["a"]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have a context and"):
        signature(context=one, question=one[:0], choices=tf.constant([["a", "b"]]))


@pytest.mark.slow
def test_rows_without_masks_are_empty(backbone, tokenizer, serve):
    preprocessor = AlbertMaskedLM.preprocessor_cls(tokenizer)
    model = AlbertMaskedLM(backbone, preprocessor)
    predictor, signatures = serve(model)
    signature = signatures["serving_default"]
    outputs = signature(text=tf.constant(["a [MASK]", "[MASK] [MASK]"]))
    assert outputs["tokens"].shape == (2, 2, 5)
    expected = fill_mask(model, ["a [MASK]", "[MASK] [MASK]"])
    shares = [token.probability for token in expected[0][0]]
    assert outputs["probabilities"][0].numpy() == pytest.approx(
        np.array([shares, [0.0] * 5]), rel=1e-4
    )
    for text in ("no mask", "[MASK] storms" * 20):
        with pytest.raises(ValueError, match=r"have a \[MASK\], .*Received: '"):
            predictor.predict(["a [MASK]", text])
        # A server may have put texts of others into the batch.
        outputs = signature(text=tf.constant([text]))
        assert outputs["tokens"].numpy().tolist() == [[[b""] * 5]]


# Long contexts have several windows, more in all than a part.
PAIRS = [
    ("who counts?", long_context(83)),
    ("a question which is too long, and is cut?", "the lighthouse and the gulls " * 3),
    *STRANGE_QUESTIONS,
    ("who?", " \n"),
]


# The plain head is exported in tests/runs/exporting_test.py.
@pytest.mark.slow
def test_answers_are_those_of_the_model(backbone, tokenizer, serve):
    preprocessor = AlbertJointQuestionAnswerer.preprocessor_cls(
        tokenizer, sequence_length=19, doc_stride=5, max_question_length=6
    )
    model = AlbertJointQuestionAnswerer(backbone, preprocessor)
    questions, contexts = map(list, zip(*PAIRS, strict=True))
    expected = answer_questions(model, questions, contexts, max_answer_length=7)
    threshold = float(np.median([row["null_score"] for row in expected]))
    task = dataclasses.replace(
        task_of(model), max_answer_length=7, null_threshold=threshold + 1e-4
    )
    predictor, signatures = serve(model, task=task)
    expected = answer_questions(
        model, questions, contexts, max_answer_length=7, null_threshold=threshold + 1e-4
    )
    received = [
        {name: row[name] for name in ("answer", "null_score", "candidates")}
        for row in predictor.predict(PAIRS, 4)
    ]
    assert received == approximately(expected)

    signature = signatures["serving_default"]
    outputs = signature(question=tf.constant(questions), context=tf.constant(contexts))
    answers = [answer.decode() for answer in outputs["answer"].numpy()]
    assert answers == [row["answer"] for row in expected]
    assert "" in answers
    assert set(answers) != {""}
    texts = outputs["candidates"].numpy()
    starts, ends = outputs["starts"].numpy(), outputs["ends"].numpy()
    for number, context in enumerate(contexts):
        rows = texts[number], starts[number], ends[number]
        for text, start, end in zip(*rows, strict=True):
            assert text.decode() == (context[start:end] if start >= 0 else "")
    # Places are those of the text without what is not UTF-8.
    outputs = signature(
        question=tf.constant([b"wh\xffo"]),
        context=tf.constant([b"the \xc3 storms\xe2"]),
    )
    (row,) = answer_questions(model, ["who"], ["the  storms"], max_answer_length=7)
    places = [candidate["start"] for candidate in row["candidates"]]
    assert outputs["starts"].numpy().tolist() == [places]
    one = tf.constant(["a"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have its context"):
        signature(question=one[:0], context=one)


LABELS = ["O", "B-PER", "I-PER", "I-LOC"]


@pytest.mark.slow
def test_words_and_entities_have_their_places(backbone, tokenizer, serve):
    # With others all words may have one tag.
    keras.utils.set_random_seed(5)
    preprocessor = AlbertTokenClassifier.preprocessor_cls(tokenizer, sequence_length=13)
    tagger = AlbertTokenClassifier(backbone, 4, preprocessor, labels=LABELS)
    _, signatures = serve(tagger)
    texts = [*LONG_SENTENCES, *STRANGE, "𠀀é北京 in 2020年，\u3000かな"]
    signature = signatures["serving_default"]
    tensors = signature(text=tf.constant(texts))
    outputs = {name: value.numpy() for name, value in tensors.items()}
    expected = tag_words(tagger, texts)
    assert len({tag for row in expected for tag in row["tags"]}) > 2
    for number, (text, row) in enumerate(zip(texts, expected, strict=True)):
        tags, scores = row["tags"], [entity["score"] for entity in row["entities"]]
        row = {name: value[number] for name, value in outputs.items()}
        words = words_of(text)
        assert [word.decode() for word in row["words"] if word] == words
        assert [tag.decode() for tag in row["tags"] if tag] == tags
        starts, ends = row["word_starts"], row["word_ends"]
        assert (starts[len(words) :] == -1).all()
        places = list(zip(starts, ends, strict=True))[: len(words)]
        assert [text[start:end] for start, end in places] == words
        entities = [
            (kind, places[first][0], places[end - 1][1])
            for kind, first, end in find_entities(tags)
        ]
        names = ("entity_types", "entity_starts", "entity_ends", "entities")
        found = [*zip(*(row[name] for name in names), strict=True)][: len(entities)]
        assert [(k.decode(), a, b) for k, a, b, _ in found] == entities
        assert [t.decode() for *_, t in found] == [text[a:b] for _, a, b in entities]
        received = row["entity_scores"][: len(entities)].tolist()
        assert received == approximately(scores)
        assert (row["entity_starts"][len(entities) :] == -1).all()
