"""Packed multiple-choice questions, by hand and on real questions."""

import numpy as np
import pytest

from albert_keras.preprocessors.choices import ChoiceQuestions, pack_choices
from albert_keras.tasks.multiple_choice.reading import read_choice_questions
from albert_keras.tokenizers import WordPieceEncoder, load_tokenizer

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghij", "\\"]


@pytest.fixture(scope="module")
def encoder():
    return WordPieceEncoder(PIECES, lowercase=True)


def sequences_of(examples):
    bounds = zip(examples.offsets, examples.offsets[1:], strict=False)
    token_ids, segment_ids = examples.token_arrays.values()
    return [(token_ids[a:b].tolist(), segment_ids[a:b].tolist()) for a, b in bounds]


def test_sequences_by_hand(encoder):
    rows = ChoiceQuestions(
        articles=["a b c d e", "a b c d e", ""],
        questions=["f __ g", "f g", "_"],
        options=[["h", "i j"], ["\\ h", ""], ["\\ i", "j"]],
        answers=[1, 0, 1],
        groups=[""] * 3,
    )
    examples = pack_choices(encoder, rows, sequence_length=10, max_question_length=3)
    assert (examples.num_choices, examples.num_examples) == (2, 3)
    assert examples.example_arrays["labels"].tolist() == [1, 0, 1]
    assert examples.example_arrays["labels"].dtype == np.int32
    assert [
        (" ".join(PIECES[index] for index in token_ids), segment_ids)
        for token_ids, segment_ids in sequences_of(examples)
    ] == [
        ("[CLS] a b c d [SEP] f h g [SEP]", [0] * 6 + [1] * 4),
        # The last three of the question with its option; four of the article fit.
        ("[CLS] a b c d [SEP] i j g [SEP]", [0] * 6 + [1] * 4),
        ("[CLS] a b c d [SEP] g \\ h [SEP]", [0] * 6 + [1] * 4),
        ("[CLS] a b c d e [SEP] f g [SEP]", [0] * 7 + [1] * 3),
        ("[CLS] [SEP] \\ i [SEP]", [0] * 2 + [1] * 3),
        ("[CLS] [SEP] j [SEP]", [0] * 2 + [1] * 2),
    ]
    short = pack_choices(encoder, rows, sequence_length=5)
    assert [PIECES[index] for index in sequences_of(short)[1][0][2:-1]] == ["j", "g"]
    assert (
        "labels"
        not in pack_choices(
            encoder, rows._replace(answers=None), sequence_length=10
        ).example_arrays
    )


def test_errors_of_packing(encoder):
    rows = ChoiceQuestions([""] * 2, ["a"] * 2, [["b"] * 3, ["c"] * 2], None, [""] * 2)
    with pytest.raises(ValueError, match="questions with 2 and 3 options"):
        pack_choices(encoder, rows, sequence_length=9)
    rows = rows._replace(options=[["b"] * 3] * 2)
    with pytest.raises(ValueError, match="sequence_length=3, of which 3 are special"):
        pack_choices(encoder, rows, sequence_length=3)
    with pytest.raises(ValueError, match="Received: max_question_length=0"):
        pack_choices(encoder, rows, sequence_length=9, max_question_length=0)


def test_real_questions(shared):
    rows = read_choice_questions(shared / "data/race/dev.jsonl")
    rows = ChoiceQuestions(*(column[:37] for column in rows))
    encoder = load_tokenizer(shared / "data/tokenizers/30k-clean.model").encoder
    examples = pack_choices(encoder, rows, sequence_length=256)
    received = iter(sequences_of(examples))
    for article, question, options in zip(*rows[:3], strict=True):
        article = encoder.encode_batch([article])[0]
        for option in options:
            text = f"{question} {option}"
            if "_" in question:
                text = question.replace("_", option)
            text = encoder.encode_batch([text])[0]
            first = [2, *article[: 253 - len(text)], 3]
            segments = [0] * len(first) + [1] * (len(text) + 1)
            assert next(received) == ([*first, *text, 3], segments)
