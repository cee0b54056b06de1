"""Windows in the graph against those of `make_windows`."""

import dataclasses

import numpy as np
import tensorflow as tf

from albert_keras.export.text.windows import cut_windows
from albert_keras.preprocessors.answer_spans import Question
from albert_keras.preprocessors.answer_windows import make_windows
from albert_keras.tasks import SQUAD, Recipe

LENGTHS = {"doc_stride": 4, "max_question_length": 5}
SEQUENCE_LENGTH = 17
PAIRS = [
    ("who?", "the gulls count 2012, storms " * 6),
    ("", ""),
    ("what is a very long question about?", "storms and boats " * 3),
    ("where", "the sea"),
]


def made(tokenizer, pairs, **changes):
    """Returns questions, and their windows in Python and in the graph."""
    lengths = LENGTHS | changes
    questions = [Question(str(n), *pair) for n, pair in enumerate(pairs)]
    windows = make_windows(
        questions,
        tokenizer.encoder,
        sequence_length=SEQUENCE_LENGTH,
        with_answers=False,
        **lengths,
    )
    task = dataclasses.replace(
        SQUAD,
        tokenizer=tokenizer,
        recipe=Recipe(sequence_length=SEQUENCE_LENGTH),
        **lengths,
    )
    asked, contexts = (
        tokenizer.tokenize(tf.constant([pair[number] for pair in pairs], tf.string))
        for number in (0, 1)
    )
    return questions, windows, cut_windows(asked, contexts, task)


def test_windows_and_their_borders(tokenizer):
    _, expected, received = made(tokenizer, PAIRS)
    examples = expected.examples
    rows = np.arange(examples.num_examples)
    batch = examples.padded(rows, examples.lengths.max())
    assert received.question_of.numpy().tolist() == expected.question_of.tolist()
    assert received.features.keys() == batch.keys()
    for name, values in batch.items():
        assert (received.features[name].numpy() == values).all(), name
    is_real = batch["padding_mask"] == 1
    is_context = expected.context_starts >= 0
    assert (received.may_end.numpy()[is_real] == is_context).all()
    may_start = is_context & expected.is_max_context
    assert (received.may_start.numpy()[is_real] == may_start).all()
    assert not received.may_end.numpy()[~is_real].any()


def test_a_batch_may_have_no_questions_or_no_contexts(tokenizer):
    _, _, received = made(tokenizer, [("who?", "")])
    assert not received.may_end.numpy().any()
    asked = contexts = tokenizer.tokenize(tf.constant([], tf.string))
    task = dataclasses.replace(SQUAD, tokenizer=tokenizer)
    windows = cut_windows(asked, contexts, task)
    assert windows.features["token_ids"].shape == (0, 1)
