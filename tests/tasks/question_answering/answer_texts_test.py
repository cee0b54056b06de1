"""Normalization of answers."""

import pytest

from albert_keras.tasks.question_answering.answer_texts import normalize_answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Cat,", "cat"),
        ("a theory of an ant", "theory of ant"),
        ("U.S.A.", "usa"),
        # Punctuation goes before articles, and only ASCII's.
        ("the-end", "theend"),
        ("“the” café", "“ ” café"),
        ("$1,250.50", "125050"),
        ("the", ""),
        ("\t\u3000北京 ", "北京"),
        ("", ""),
    ],
)
def test_golden_texts(text, expected):
    assert normalize_answer(text) == expected
