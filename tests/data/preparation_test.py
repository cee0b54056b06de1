"""Making record files: same seed, same bytes; whole or recognizably unfinished."""

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


def test_an_interrupted_run_can_be_repeated(prepared, documents, tokenizer, tmp_path):
    def interrupt(stage, done, total):
        if (stage, done) == ("shards", 2):
            raise KeyboardInterrupt

    folder = tmp_path / "data"
    with pytest.raises(KeyboardInterrupt):
        prepare_pretraining_data(
            documents, tokenizer, folder, CONFIG, progress=interrupt
        )
    assert read_description(folder) is None
    finished = content(folder)
    assert len(finished) == 2
    prepare_pretraining_data(documents, tokenizer, folder, CONFIG)
    assert content(folder) == content(prepared[0])
    assert finished.items() < content(folder).items()


def test_other_files_are_not_touched(prepared, documents, tokenizer, tmp_path):
    with pytest.raises(FileExistsError, match="'.*data', with 'dataset.json'"):
        prepare_pretraining_data(documents, tokenizer, prepared[0], CONFIG)
    (tmp_path / "thesis.txt").write_text("kept")
    with pytest.raises(FileExistsError, match="unfinished .* with 'thesis.txt'"):
        prepare_pretraining_data(documents, tokenizer, tmp_path, CONFIG)
    assert content(tmp_path) == {"thesis.txt": b"kept"}


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


def test_blocks_are_cut_alike_and_hold_two_documents(tokenizer, tmp_path):
    # Sentences so long that every second document fills a block.
    sentences = ["ab cd " * 200_000, "ef"]
    config = dataclasses.replace(
        CONFIG, one_sentence_chunks="random_document", dupe_factor=1
    )
    calls = []
    prepare_pretraining_data(
        [sentences] * 5,
        tokenizer,
        tmp_path,
        config,
        progress=lambda stage, done, total: calls.append(done),
    )
    assert calls == [2, 4, 5, 1, 2, 3]
