"""Outputs of text signatures that answers do not show: places, padding and errors."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.preprocessors.tagged_words import words_of
from albert_keras.tasks.masked_words import fill_mask
from albert_keras.tasks.prediction import answer_questions, tag_words
from tests.export.text.conftest import LONG_SENTENCES, QUESTIONS, STRANGE, approximately


@pytest.mark.slow
def test_choices_have_logits_and_a_label(make_run, serve):
    run = make_run("choices")
    _, signatures = serve(run.model)
    signature = signatures["serving_default"]
    outputs = signature(
        context=tf.constant(["the storms"]),
        question=tf.constant(["_"]),
        choices=tf.constant([["boats", "gulls"]]),
    )
    (row,) = run.predict([("the storms", "_", ["boats", "gulls"])])
    assert outputs["logits"].numpy()[0].tolist() == approximately(row["logits"])
    assert outputs["label"].numpy().tolist() == [row["label"].encode()]
    one = tf.constant(["a"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="from 2 to 26 choices"):
        signature(context=one, question=one, choices=tf.constant([["a"]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have a context and"):
        signature(context=one, question=one[:0], choices=tf.constant([["a", "b"]]))


@pytest.mark.slow
def test_rows_without_masks_are_empty(make_run, serve):
    _, model = make_run("masks alone")
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


# The plain head is exported in tests/runs/exporting_test.py.
@pytest.mark.slow
def test_answers_are_those_of_the_model(make_run, serve):
    task, model = make_run("joint answers")
    questions, contexts = map(list, zip(*QUESTIONS, strict=True))
    expected = answer_questions(model, questions, contexts, max_answer_length=7)
    threshold = float(np.median([row["null_score"] for row in expected])) + 1e-4
    options = {"max_answer_length": 7, "null_threshold": threshold}
    expected = answer_questions(model, questions, contexts, **options)
    _, signatures = serve(model, task=dataclasses.replace(task, **options))
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


@pytest.mark.slow
def test_words_and_entities_have_their_places(make_run, serve):
    _, tagger = make_run("tags")
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
        # The rules are tested in graph_test.py.
        received = row["entity_scores"][: len(scores)].tolist()
        assert received == approximately(scores)
        starts, ends = row["entity_starts"], row["entity_ends"]
        assert (starts[len(scores) :] == -1).all()
        places = zip(starts, ends, row["entities"], strict=True)
        for start, end, entity in [*places][: len(scores)]:
            assert entity.decode() == text[start:end]
