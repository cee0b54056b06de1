"""Making record files: same seed, same bytes; all of them or none."""

import dataclasses

import pytest

from albert_keras.data.examples import PretrainingDataConfig
from albert_keras.data.preparation import prepare_pretraining_data
from albert_keras.data.records import find_shards, read_description, read_examples

CONFIG = PretrainingDataConfig(sequence_length=61, dupe_factor=2, num_shards=3, seed=5)


@pytest.fixture(scope="module")
def prepared(documents, tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prepared") / "data"
    calls = []
    report = prepare_pretraining_data(
        iter(documents),
        tokenizer,
        folder,
        CONFIG,
        progress=lambda *call: calls.append(call),
    )
    return folder, report, calls


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_report_tells_what_the_files_hold(prepared, documents, tokenizer):
    folder, report, calls = prepared
    examples = [e for path in find_shards(folder) for e in read_examples(path)]
    one_sentence = sum(len(document) == 1 for document in documents)
    assert one_sentence > 0
    assert report.num_documents == 83
    assert report.dropped_documents == {"no_tokens": 0, "one_sentence": one_sentence}
    assert report.num_examples == len(examples)
    assert report.num_tokens == sum(e["padding_mask"].sum() for e in examples)
    assert report.num_positives == sum(e["sop_label"] for e in examples)
    assert report.num_predictions == sum(e["mask_weights"].sum() for e in examples)
    assert 0.145 < report.rates["masked_rate"] < 0.155
    assert report.run_counts[0] > report.run_counts[1] > report.run_counts[2] > 0
    assert calls[0] == ("documents", 83, None)
    assert calls[1:] == [("shards", index, 3) for index in (1, 2, 3)]

    description = read_description(folder)
    assert description["report"] == report.to_dict()
    assert description["config"] == dataclasses.asdict(CONFIG)
    assert sum(description["shards"].values()) == len(examples)
    assert list(description["shards"]) == [path.name for path in find_shards(folder)]
    sizes = [description[n] for n in ("sequence_length", "max_predictions")]
    assert sizes == [61, 9]
    assert description["vocabulary_size"] == tokenizer.vocabulary_size() == 331
    assert description["tokenizer_fingerprint"] == tokenizer.fingerprint()
    assert description["sentence_pairs"] == "sop"


def test_a_seed_gives_the_same_bytes(prepared, documents, tokenizer, tmp_path):
    expected = content(prepared[0])
    prepare_pretraining_data(documents, tokenizer, tmp_path / "same", CONFIG)
    assert content(tmp_path / "same") == expected
    other = dataclasses.replace(CONFIG, seed=6)
    prepare_pretraining_data(documents, tokenizer, tmp_path / "other", other)
    changed = content(tmp_path / "other")
    assert list(changed) == list(expected)
    assert not {*changed.values()} & {*expected.values()}


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("moment", [("documents", 83), ("shards", 2)])
def test_a_failed_run_leaves_nothing(documents, tokenizer, tmp_path, moment, error):
    def fail(stage, done, total):
        if (stage, done) == moment:
            raise error("disk full")

    with pytest.raises(error, match="disk full"):
        prepare_pretraining_data(
            documents, tokenizer, tmp_path / "data", CONFIG, progress=fail
        )
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_not_touched(prepared, documents, tokenizer, tmp_path):
    with pytest.raises(FileExistsError, match="'.*data', with 'dataset.json'"):
        prepare_pretraining_data(documents, tokenizer, prepared[0], CONFIG)
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("kept")
    for output_dir in (tmp_path, thesis):
        with pytest.raises(FileExistsError, match="new or empty.*with 'thesis.txt'"):
            prepare_pretraining_data(documents, tokenizer, output_dir, CONFIG)
    assert content(tmp_path) == {"thesis.txt": b"kept"}


def test_files_that_appear_meanwhile_are_not_touched(documents, tokenizer, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(FileExistsError, match="new or empty.*with '.notes.txt'"):
        prepare_pretraining_data(
            documents,
            tokenizer,
            folder,
            CONFIG,
            progress=lambda *call: (folder / ".notes.txt").write_text("kept"),
        )
    assert content(folder) == {".notes.txt": b"kept"}
    assert list(tmp_path.iterdir()) == [folder]


def test_bad_documents(tokenizer, tmp_path):
    message = (
        "give an example. Received: num_documents=3, dropped_documents="
        "{'no_tokens': 1, 'one_sentence': 2}, num_skipped_chunks=4"
    )
    with pytest.raises(ValueError, match=message):
        prepare_pretraining_data([["abc"], [" "], ["de"]], tokenizer, tmp_path, CONFIG)
    with pytest.raises(TypeError, match="list of sentences. Received: 'corpus.txt'"):
        prepare_pretraining_data(["corpus.txt"], tokenizer, tmp_path, CONFIG)
    assert list(tmp_path.iterdir()) == []


def prepare_nsp(documents, tokenizer, folder):
    """Returns each example's tokens before masking, its label, and the progress."""
    config = dataclasses.replace(
        CONFIG,
        sentence_pairs="nsp",
        one_sentence_chunks="random_document",
        short_sequence_prob=0.0,
    )
    calls = []
    prepare_pretraining_data(
        documents,
        tokenizer,
        folder,
        config,
        progress=lambda stage, done, total: calls.append(done),
    )
    examples = [e for path in find_shards(folder) for e in read_examples(path)]
    for example in examples:
        num_masked = int(example["mask_weights"].sum())
        positions = example["mask_positions"][:num_masked]
        example["token_ids"][positions] = example["mask_ids"][:num_masked]
    return examples, calls


def test_negatives_come_from_another_document(tokenizer, tmp_path):
    # Each long sentence fills a block; a blank document has no tokens.
    long_sentence = "{0}{0} " * 700_000
    blank = ["  "]
    documents = [blank, *([long_sentence.format(c), f"{c} {c}"] for c in "abc"), blank]
    examples, calls = prepare_nsp(documents, tokenizer, tmp_path / "data")
    # The rest, one document, joined the two before it.
    assert calls == [5, 1, 2, 3]
    alphabet = {
        token_id: letter
        for letter in "abc"
        for token_id in tokenizer.tokenize(f"{letter} {letter}{letter}")
    }
    negatives = [e for e in examples if e["sop_label"]]
    assert negatives
    for example in negatives:
        first, second = (
            {
                alphabet[token_id]
                for token_id in example["token_ids"][example["segment_ids"] == segment]
                if token_id in alphabet
            }
            for segment in (0, 1)
        )
        assert first
        assert second
        assert not first & second


def test_a_document_alone_gives_no_negatives(documents, tokenizer, tmp_path):
    longest = max(documents, key=len)
    examples, _ = prepare_nsp([longest, [" "]], tokenizer, tmp_path / "data")
    assert len(examples) > 5
    assert not any(example["sop_label"] for example in examples)
