"""Prepared data checked against the options of a run."""

import dataclasses

import pytest

from albert_keras.config import AlbertConfig
from albert_keras.pretraining import (
    PretrainingDataConfig,
    pretraining_validation_dataset,
)
from albert_keras.runs.pretraining import (
    check_data,
    example_config,
    held_out_config,
    read_config,
)
from albert_keras.runs.pretraining_config import PretrainingRunConfig
from albert_keras.tokenizers import load_tokenizer

DATA_OPTIONS = {"sequence_length": 23, "dupe_factor": 1, "num_shards": 1}


@pytest.fixture(scope="module")
def prepared(vocabulary, tmp_path_factory):
    """A store of token ids, and records, of one text."""
    folder = tmp_path_factory.mktemp("prepared")
    text = folder / "corpus.txt"
    text.write_text("One two.\nThree four.\nFive six.\n\nSeven.\nEight nine.\n" * 5)
    config = PretrainingRunConfig(
        run="run", tokenizer=vocabulary, text=(str(text),), data_options=DATA_OPTIONS
    )
    tokenizer = load_tokenizer(vocabulary)
    for name, format in (("tokens", "store"), ("records", "tfrecord")):
        config.prepare(config.text, tokenizer, folder / name, format=format)
    return folder


def options(data, **options):
    return PretrainingRunConfig(
        run="run", tokenizer="a.model", data=str(data), **options
    )


def test_examples_of_a_store_may_differ_from_what_it_was_prepared_for(prepared):
    store = prepared / "tokens"
    assert example_config(store, options(store)) == read_config(store)
    changed = example_config(store, options(store, data_options={"masking": "token"}))
    assert changed.masking == "token"
    assert changed.sequence_length == 23
    records = prepared / "records"
    assert example_config(records, options(records)) is None


def test_held_out_rows_are_cut_to_the_positions_of_the_model(prepared):
    store = prepared / "tokens" / "held_out"
    for positions, length in ((19, 19), (29, 23)):
        shape = AlbertConfig.from_preset("albert_test", max_sequence_length=positions)
        config = held_out_config(store, shape)
        assert config.sequence_length == length
        dataset = pretraining_validation_dataset(store, 2, config=config)
        features, *_ = next(iter(dataset))
        assert features["token_ids"].shape[1] == length
    assert held_out_config(prepared / "records", shape) is None
    assert held_out_config(None, shape) is None


@pytest.mark.parametrize(
    ("kind", "changes", "received"),
    [
        ("records", {"masking": "token", "masked_rate": 0.2}, "masked_rate, masking"),
        ("tokens", {"dupe_factor": 3, "masking": "token"}, "dupe_fac"),
        ("tokens", {"word_segmenter": "jieba"}, "word_segmenter"),
    ],
)
def test_options_that_come_too_late(prepared, kind, changes, received):
    data = prepared / kind
    with pytest.raises(ValueError, match=f"need `text`. Received: {received}"):
        example_config(data, options(data, data_options=changes))


def test_data_must_fit_tokenizer_and_model(prepared, vocabulary):
    tokenizer = load_tokenizer(vocabulary)
    shape = AlbertConfig.from_preset(
        "albert_test",
        vocabulary_size=tokenizer.vocabulary_size(),
        max_sequence_length=19,
    )
    store = prepared / "tokens"
    with pytest.raises(ValueError, match="sequence_length=23, max_sequence_length=19"):
        check_data(store, tokenizer, shape)
    check_data(store, tokenizer, shape, PretrainingDataConfig(sequence_length=17))
    blocks = dataclasses.replace(shape, attention="block")
    filled = PretrainingDataConfig(sequence_length=17, packing="filled")
    with pytest.raises(ValueError, match="packing=filled, attention=block. Use"):
        check_data(store, tokenizer, blocks, filled)
    other = load_tokenizer(vocabulary, lowercase=False)
    with pytest.raises(ValueError, match=r"with the given tokenizer.*fingerprint"):
        check_data(store, other, shape, PretrainingDataConfig(sequence_length=17))
