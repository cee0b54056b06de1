"""Checks that training runs share, shapes, and warnings about rows."""

import types

import pytest

from albert_keras.config import AlbertConfig
from albert_keras.preprocessors.texts import pack_texts
from albert_keras.runs.finetuning_task import report_overlap, warn_of_unknown_pieces
from albert_keras.runs.training import ShapeOptions, check_fits, check_micro_batches
from albert_keras.tasks import TextClassificationTask
from albert_keras.tasks.text_classification.reading import LabelledTexts
from albert_keras.tokenizers import load_tokenizer
from albert_keras.training import get_strategy


@pytest.mark.parametrize(
    ("vocabulary_size", "sequence_length", "message"),
    [(61, 30, "sequence_length=30, max_sequence_length=29"), (59, 29, "61 .* 59")],
)
def test_what_does_not_fit_a_model(vocabulary_size, sequence_length, message):
    shape = AlbertConfig.from_preset(
        "albert_test", vocabulary_size=vocabulary_size, max_sequence_length=29
    )
    tokenizer = types.SimpleNamespace(vocabulary_size=lambda: 61)
    with pytest.raises(ValueError, match=message):
        check_fits(tokenizer, shape, sequence_length)


def test_each_device_has_an_example_for_each_micro_batch():
    strategy = get_strategy("default")
    check_micro_batches(3, 3, strategy)
    with pytest.raises(ValueError, match="batch_size=3, micro_batches=4, 1 devices"):
        check_micro_batches(4, 3, strategy)


# === Shapes that differ from a preset ===


@pytest.mark.parametrize(
    ("options", "num_heads", "intermediate_dim"),
    [
        ({}, 12, 3072),
        ({"hidden_dim": 192}, 3, 768),
        ({"hidden_dim": 48, "intermediate_dim": 31, "num_heads": 2}, 2, 31),
    ],
)
def test_width_follows_the_hidden_dim(options, num_heads, intermediate_dim):
    shape = ShapeOptions(model_options=options).shape(vocabulary_size=61)
    assert (shape.num_heads, shape.intermediate_dim) == (num_heads, intermediate_dim)
    assert shape.vocabulary_size == 61


# === Warnings of held-out texts that were trained on, and of unknown languages ===


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
    found = report_overlap(TextClassificationTask(), train, held_out)
    assert found == texts[:num_equal]
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
