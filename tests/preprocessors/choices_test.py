"""Packed multiple-choice questions, by hand and from raw rows."""

import numpy as np
import pytest

from albert_keras.preprocessors import AlbertMultipleChoicePreprocessor
from albert_keras.preprocessors.choices import ChoiceQuestions, pack_choices
from albert_keras.tokenizers import WordPieceEncoder

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghij", "\\"]


@pytest.fixture(scope="module")
def encoder():
    return WordPieceEncoder(PIECES, lowercase=True)


def sequences_of(examples):
    parts = [
        np.split(array, examples.offsets[1:-1])
        for array in examples.token_arrays.values()
    ]
    return [
        (" ".join(PIECES[index] for index in token_ids), segment_ids.tolist())
        for token_ids, segment_ids in zip(*parts, strict=True)
    ]


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
    assert sequences_of(examples) == [
        ("[CLS] a b c d [SEP] f h g [SEP]", [0] * 6 + [1] * 4),
        # The last three of the question with its option; four of the article fit.
        ("[CLS] a b c d [SEP] i j g [SEP]", [0] * 6 + [1] * 4),
        ("[CLS] a b c d [SEP] g \\ h [SEP]", [0] * 6 + [1] * 4),
        ("[CLS] a b c d e [SEP] f g [SEP]", [0] * 7 + [1] * 3),
        ("[CLS] [SEP] \\ i [SEP]", [0] * 2 + [1] * 3),
        ("[CLS] [SEP] j [SEP]", [0] * 2 + [1] * 2),
    ]
    short = pack_choices(encoder, rows, sequence_length=5)
    assert sequences_of(short)[1][0] == "[CLS] [SEP] j g [SEP]"


def test_errors_of_packing(encoder):
    rows = ChoiceQuestions([""] * 2, ["a"] * 2, [["b"] * 3] * 2, None, [""] * 2)
    with pytest.raises(ValueError, match="Received: max_question_length=0"):
        pack_choices(encoder, rows, sequence_length=9, max_question_length=0)


# === Questions with choices to features ===


CONTEXTS = ["Ann came home.", "It rains."]
CHOICES = [["She slept.", "No.", "Yes."], ["We get wet.", "a", "b"]]


@pytest.fixture
def preprocessor(tokenizer):
    return AlbertMultipleChoicePreprocessor(
        tokenizer, sequence_length=23, max_question_length=7
    )


def test_questions_come_before_choices(preprocessor):
    questions = ["Then _", "What?"]
    features, labels, weights = preprocessor(
        (CONTEXTS, questions, np.array(CHOICES)), [2, 0], [0.5, 1]
    )
    assert {array.shape for array in features.values()} == {(2, 3, 23)}
    assert labels.tolist() == [2, 0]
    filled = [[f"Then {c}" for c in CHOICES[0]], [f"What? {c}" for c in CHOICES[1]]]
    expected = preprocessor(x=(CONTEXTS, filled))
    assert np.array_equal(features["token_ids"], expected["token_ids"])
    assert weights.tolist() == [0.5, 1]


def test_rows_of_tuples_and_dicts(preprocessor):
    expected = preprocessor(x=(CONTEXTS, CHOICES))["token_ids"]
    rows = [*zip(CONTEXTS, CHOICES, strict=True)]
    named = [{"context": context, "choices": choices} for context, choices in rows]
    for x in (rows, named):
        assert np.array_equal(preprocessor(x=x)["token_ids"], expected)
    with pytest.raises(ValueError, match="tuple of context, question, choices"):
        preprocessor(x=(CONTEXTS,))


def test_choices_and_positions_must_fit(preprocessor):
    for choices in ([["a", "b"], ["c"]], ["ab", "cd"]):
        with pytest.raises(ValueError, match="list of the same number of choices, at"):
            preprocessor.columns((CONTEXTS, choices), is_batch=False)
    for position in (3, -1, "A"):
        with pytest.raises(ValueError, match=f"0 to 2. Received: {position!r}"):
            preprocessor.columns((CONTEXTS, CHOICES), [0, position])
