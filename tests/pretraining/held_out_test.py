"""Held-out documents: how many, disjoint from the others, the same for any workers."""

import numpy as np
import pytest

from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.held_out import count_held_out
from albert_keras.pretraining.preparation import prepare_pretraining_data
from albert_keras.pretraining.records import read_description
from albert_keras.pretraining.report import PretrainingDataReport
from albert_keras.pretraining.token_store import read_block
from albert_keras.text.corpus import open_corpus

CONFIG = PretrainingDataConfig(sequence_length=61, dupe_factor=2, num_shards=3, seed=5)


@pytest.mark.parametrize(
    ("num_documents", "num_tokens", "share", "expected"),
    [
        (200, 50_000, None, 10),
        # At most 100,000 tokens, at least one document, never all.
        (2000, 10_000_000, None, 20),
        (7, 900, None, 1),
        (200, 50_000, 0.5, 100),
        (2, 50, 0.9, 1),
    ],
)
def test_number_of_held_out_documents(num_documents, num_tokens, share, expected):
    # Three more have no tokens.
    report = PretrainingDataReport(
        num_documents=num_documents + 3,
        num_corpus_tokens=num_tokens,
        dropped_documents={"no_tokens": 3, "one_sentence": 0},
    )
    assert count_held_out(report, share) == expected


def documents_of(folder):
    """Returns the token ids of each document in a store, as a set of tuples."""
    found = set()
    for name, blocks in read_description(folder)["shards"].items():
        for block in blocks:
            ids, sentences, documents = read_block(folder / name, block)
            parts = np.split(ids, sentences[documents][1:-1])
            found |= {tuple(part.tolist()) for part in parts}
    return found


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def corpus(documents):
    return open_corpus(documents, part_bytes=20_000)


@pytest.fixture(scope="module")
def split(corpus, tokenizer, tmp_path_factory):
    """Folders of the training and the held-out documents."""
    train = tmp_path_factory.mktemp("split") / "train"
    held_out = train.with_name("held_out")
    options = {"dynamic": True, "held_out_dir": held_out, "validation_split": 0.2}
    prepare_pretraining_data(corpus, tokenizer, train, CONFIG, **options)
    return train, held_out


def test_each_document_is_on_one_side(split, corpus, tokenizer, tmp_path):
    prepare_pretraining_data(corpus, tokenizer, tmp_path, CONFIG, dynamic=True)
    train, held_out = map(documents_of, split)
    assert not train & held_out
    assert train | held_out == documents_of(tmp_path)
    assert len(held_out) == round(0.2 * 83)
    report = read_description(split[1])["report"]
    assert report["num_documents"] == len(held_out)
    assert report["num_corpus_tokens"] == sum(map(len, held_out))
    assert report["num_examples"] > 0


def test_other_seeds_and_examples(split, corpus, tokenizer, tmp_path):
    other = tmp_path / "other", tmp_path / "other_held_out"
    config = PretrainingDataConfig(**{**vars(CONFIG), "seed": 6})
    prepare_pretraining_data(
        corpus, tokenizer, other[0], config, held_out_dir=other[1], validation_split=0.2
    )
    assert documents_of(other[1]) != documents_of(split[1])
    # Records, of which the token ids of the training documents are not kept.
    assert read_description(other[0])["kind"] == "records"
    assert read_description(other[1])["kind"] == "tokens"
    assert not (other[0] / "unfinished").exists()


def test_an_interrupted_call_resumes(split, corpus, tokenizer, tmp_path):
    folders = tmp_path / "train", tmp_path / "held_out"
    options = {"held_out_dir": folders[1], "validation_split": 0.2, "dynamic": True}

    def stop(stage, done, total):
        if stage == "examples":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_pretraining_data(
            corpus, tokenizer, folders[0], CONFIG, **options, progress=stop
        )
    prepare_pretraining_data(corpus, tokenizer, folders[0], CONFIG, **options)
    assert [*map(content, folders)] == [*map(content, split)]
    for other in ({**options, "validation_split": 0.3}, {"dynamic": True}):
        with pytest.raises(ValueError, match=r"validation_split was 0\.2 and is 0"):
            prepare_pretraining_data(corpus, tokenizer, folders[0], CONFIG, **other)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([["one small text", "its end"]], "two at least. Received: 1. Separate"),
        ([["one small text"], ["another"]], "one example. Received: none of 1. Hold"),
    ],
)
def test_what_cannot_be_held_out(texts, message, tokenizer, tmp_path):
    folders = tmp_path / "train", tmp_path / "held_out"
    with pytest.raises(ValueError, match=message):
        prepare_pretraining_data(texts, tokenizer, folders[0], held_out_dir=folders[1])
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
