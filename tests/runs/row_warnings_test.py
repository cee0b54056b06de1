"""Warnings of held-out texts that were trained on, and of unknown languages."""

import pytest

from albert_keras.preprocessors.texts import pack_texts
from albert_keras.runs.rows import report_overlap, warn_of_unknown_pieces
from albert_keras.tasks import TextClassificationTask
from albert_keras.tasks.text_classification.reading import LabelledTexts
from albert_keras.tokenizers import load_tokenizer


@pytest.mark.parametrize(
    ("num_equal", "line"),
    [
        (1, "of 10 held-out texts 1 are in the training rows too\n"),
        (2, "warning: of 10 held-out texts 2 are in the training rows too\n"),
    ],
)
def test_more_than_a_tenth_of_overlap_is_a_warning(capsys, num_equal, line):
    train = LabelledTexts([f"train {i}" for i in range(13)], None)
    texts = train.texts[:num_equal] + [f"new {i}" for i in range(10 - num_equal)]
    held_out = LabelledTexts(texts, None)
    assert (
        report_overlap(TextClassificationTask(), train, held_out) == texts[:num_equal]
    )
    assert capsys.readouterr().err == line


def test_a_vocabulary_of_another_language_is_a_warning(capsys, vocabulary):
    tokenizer = load_tokenizer(vocabulary)

    def warnings(texts):
        examples = pack_texts(tokenizer.encoder, texts, sequence_length=23)
        warn_of_unknown_pieces(tokenizer, examples)
        return capsys.readouterr().err

    assert warnings(["the ship and the sea", "a man of the sea"]) == ""
    # A word marker and one unknown piece each.
    found = warnings(["今天天气很好", "我們明天去"])
    assert found.startswith("warning: the vocabulary knows 50% of the pieces")
    assert warnings([""]) == ""
