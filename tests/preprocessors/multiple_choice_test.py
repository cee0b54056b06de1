"""Questions with choices to features."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.preprocessors import AlbertMultipleChoicePreprocessor

CONTEXTS = ["Ann came home.", "It rains."]
CHOICES = [["She slept.", "No.", "Yes."], ["We get wet.", "a", "b"]]


@pytest.fixture
def preprocessor(tokenizer):
    return AlbertMultipleChoicePreprocessor(
        tokenizer, sequence_length=23, max_question_length=7
    )


def test_each_choice_is_packed_with_its_context(preprocessor, tokenizer):
    features, labels = preprocessor((CONTEXTS, CHOICES), [2, 0])
    assert {array.shape for array in features.values()} == {(2, 3, 23)}
    assert labels.tolist() == [2, 0]
    context, choice = tokenizer(CONTEXTS[1]), tokenizer(CHOICES[1][0])[-7:]
    cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
    packed = [cls, *context, sep, *choice, sep]
    assert features["token_ids"][1, 0, : len(packed)].tolist() == packed
    assert features["padding_mask"][1, 0].sum() == len(packed)


def test_the_number_of_choices_may_be_unknown(preprocessor):
    spec = (tf.TensorSpec([None], tf.string), tf.TensorSpec([None, None], tf.string))
    rows = tf.data.Dataset.from_generator(
        lambda: iter([(CONTEXTS, CHOICES)]), output_signature=spec
    )
    (features,) = rows.map(lambda *texts: preprocessor(x=texts))
    expected = preprocessor(x=(CONTEXTS, CHOICES))
    assert np.array_equal(features["token_ids"], expected["token_ids"])


def test_questions_come_before_choices(preprocessor):
    questions = ["Then _", "What?"]
    features, _, weights = preprocessor(
        (CONTEXTS, questions, np.array(CHOICES)), [2, 0], [0.5, 1]
    )
    filled = [[f"Then {c}" for c in CHOICES[0]], [f"What? {c}" for c in CHOICES[1]]]
    expected = preprocessor(x=(CONTEXTS, filled))
    assert np.array_equal(features["token_ids"], expected["token_ids"])
    assert weights.tolist() == [0.5, 1]


def test_x_must_be_a_tuple(preprocessor):
    with pytest.raises(ValueError, match="tuple of context, question, choices"):
        preprocessor(x=(CONTEXTS,))


def test_rows_of_tuples_and_dicts(preprocessor):
    expected = preprocessor(x=(CONTEXTS, CHOICES))["token_ids"]
    rows = [*zip(CONTEXTS, CHOICES, strict=True)]
    named = [{"context": context, "choices": choices} for context, choices in rows]
    for x in (rows, named):
        assert np.array_equal(preprocessor(x=x)["token_ids"], expected)


def test_choices_and_positions_must_fit(preprocessor):
    for choices in ([["a", "b"], ["c"]], ["ab", "cd"]):
        with pytest.raises(ValueError, match="list of the same number of choices"):
            preprocessor.columns((CONTEXTS, choices), is_batch=False)
    for position in (3, -1, "A"):
        with pytest.raises(ValueError, match=f"0 to 2. Received: {position!r}"):
            preprocessor.columns((CONTEXTS, CHOICES), [0, position])
