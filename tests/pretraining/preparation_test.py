"""Preparation: reproducible bytes, resume, and invalid input."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest

from albert_keras.pretraining.datasets import pretraining_dataset
from albert_keras.pretraining.documents import tokenize_documents
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.jobs import HELD_OUT, UNFINISHED
from albert_keras.pretraining.preparation import (
    count_held_out,
    prepare_pretraining_data,
)
from albert_keras.pretraining.records import find_shards
from albert_keras.pretraining.report import PretrainingDataReport
from albert_keras.pretraining.token_store import read_block, read_description
from albert_keras.system.files import LOCK
from albert_keras.text.corpus import open_corpus
from tests.pretraining.record_folders import read_examples
from tests.pretraining.without_tensorflow import prepare_without_tensorflow
from tests.processes import claimed_by_another

CONFIG = PretrainingDataConfig(sequence_length=61, dupe_factor=2, num_shards=3, seed=5)
KINDS = pytest.mark.parametrize("format", ["tfrecord", "store"])

prepare_records = functools.partial(prepare_pretraining_data, format="tfrecord")


@pytest.fixture(scope="module")
def corpus(documents):
    """The documents in six parts."""
    return open_corpus(documents, part_bytes=20_000)


@pytest.fixture(scope="module")
def prepared(corpus, tokenizer, tmp_path_factory):
    """Data of both kinds: `{format: (folder, report, progress)}`."""
    made = {}
    for format in ("tfrecord", "store"):
        folder, calls = tmp_path_factory.mktemp("prepared") / "data", []
        options = {"format": format, "progress": lambda *call, c=calls: c.append(call)}
        report = prepare_records(corpus, tokenizer, folder, CONFIG, **options)
        made[format] = folder, report, calls
    return made


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def times_of(paths):
    return {path: path.stat().st_mtime_ns for path in paths}


def finished_tasks(folder):
    """Returns the time when each task was finished, by the path of its result."""
    return times_of((folder / UNFINISHED).glob("[!.]*-??????.json"))


# === What is made ===


def test_report_equals_the_files(prepared, documents, tokenizer):
    folder, report, calls = prepared["tfrecord"]
    examples = [e for path in find_shards(folder) for e in read_examples(path)]
    one_sentence = sum(len(document) == 1 for document in documents)
    assert one_sentence > 0
    assert report.num_documents == 83
    assert report.dropped_documents == {"no_tokens": 0, "one_sentence": one_sentence}
    tokens = tokenize_documents(documents, tokenizer.encoder)
    assert report.num_corpus_tokens == tokens.num_tokens
    assert report.num_examples == report.num_pairs == len(examples)
    lengths = [e["padding_mask"].sum() for e in examples]
    assert report.num_tokens == sum(lengths)
    assert report.num_positions == 61 * len(examples)
    counts = np.bincount(np.ceil(16 * np.array(lengths) / 61).astype(int) - 1)
    assert report.length_counts == counts.tolist()
    labels = [e["sop_label"] for e in examples]
    assert report.label_counts == {
        "in order": labels.count(0),
        "swapped": labels.count(1),
    }
    assert report.num_predictions == sum(e["mask_weights"].sum() for e in examples)
    assert 0.145 < report.rates["masked_rate"] < 0.155
    assert 0.45 < report.rates["label_shares"]["swapped"] < 0.55
    assert report.run_counts[0] > report.run_counts[1] > report.run_counts[2] > 0

    num_bytes = sum(len(sentence) for document in documents for sentence in document)
    stages = itertools.groupby(calls, key=lambda call: call[0])
    stages = {stage: [call[1:] for call in calls] for stage, calls in stages}
    assert list(stages) == ["tokenize", "shuffle", "examples", "write"]
    assert len(stages["tokenize"]) > 4
    assert stages["tokenize"][-1] == (num_bytes, num_bytes)
    assert stages["shuffle"] == [(0, 1), (1, 1)]
    assert stages["examples"] == [(done, 2) for done in range(3)]
    assert stages["write"] == [(done, 3) for done in range(4)]


@KINDS
def test_description(prepared, tokenizer, format):
    folder, report, _ = prepared[format]
    description = read_description(folder)
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(["dataset.json", *description["shards"]])
    if format == "store":
        assert list(description["shards"]) == ["documents-00000-of-00001.tokens"]
    else:
        assert list(description["shards"]) == [p.name for p in find_shards(folder)]
        shards = description["shards"].values()
        assert sum(shard["examples"] for shard in shards) == report.num_examples
    expected = {
        "kind": "tokens" if format == "store" else "records",
        "config": dataclasses.asdict(CONFIG),
        "tokenizer_fingerprint": tokenizer.fingerprint(),
        "validation_split": 0,
        "vocabulary_size": 331,
        "special_token_ids": [0, 1, 2, 3, 4],
        "report": report.to_dict(),
    }
    assert {name: description[name] for name in expected} == expected
    others = {"shards", "input_fingerprint", "input_files"}
    assert set(description) - set(expected) == others


# === Same seed, same bytes ===


@pytest.fixture(scope="module")
def text(documents, tmp_path_factory):
    """A file of two parts, and of two blocks of tokens."""
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    once = "\n\n".join("\n".join(document) for document in documents)
    path.write_text("\n\n".join([once] * 21))
    assert len(open_corpus(path).parts) == 2
    return path


@pytest.mark.slow
@KINDS
def test_bytes_do_not_depend_on_workers(text, tokenizer, tmp_path, format):
    config = dataclasses.replace(CONFIG, sequence_length=509)
    made = []
    for num_workers in (1, 3):
        folder = tmp_path / str(num_workers)
        options = {"format": format, "validation_split": 0.1}
        prepare_pretraining_data(
            text, tokenizer, folder, config, num_workers=num_workers, **options
        )
        made.append(content(folder))
    if format == "store":
        (blocks,) = read_description(folder)["shards"].values()
        assert len(blocks) == 2
    assert made[0] == made[1]


def test_records_are_the_first_epochs_of_the_stream(prepared):
    files = [read_examples(path) for path in find_shards(prepared["tfrecord"][0])]
    sizes = [len(examples) for examples in files]
    assert max(sizes) - min(sizes) <= 1
    dataset = pretraining_dataset(prepared["store"][0], sum(sizes), seed=CONFIG.seed)
    features, labels, _ = next(iter(dataset))
    found = [example for examples in files for example in examples]
    for name, values in features.items():
        np.testing.assert_array_equal([e[name] for e in found], values)
    np.testing.assert_array_equal([e["mask_ids"] for e in found], labels["mlm_logits"])


def test_token_ids_without_tensorflow_and_keras(prepared, corpus, tokenizer, tmp_path):
    calls, flags = {tmp_path: {}}, ("-W", "error")
    assert prepare_without_tensorflow(corpus, tokenizer, CONFIG, calls, *flags) == ""
    assert content(tmp_path) == content(prepared["store"][0])


# === What is finished is not done again ===


@KINDS
def test_a_finished_preparation_is_not_repeated(prepared, corpus, tokenizer, format):
    folder, report, _ = prepared[format]
    before = times_of(folder.rglob("*"))

    def refuse(*call):
        raise AssertionError(call)

    options = {"format": format, "num_workers": 2, "progress": refuse}
    again = prepare_pretraining_data(corpus, tokenizer, folder, CONFIG, **options)
    assert again == report
    assert times_of(folder.rglob("*")) == before


def interrupt(moment, *arguments, **options):
    """Prepares until a moment, the name of a stage and the number of finished tasks."""

    def stop(stage, done, total):
        if (stage, done) == moment:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_records(*arguments, **options, progress=stop)


@pytest.mark.parametrize(
    ("num_workers", "format", "moment", "num_done"),
    [
        (1, "tfrecord", ("tokenize", 0), 0),
        (1, "tfrecord", ("shuffle", 0), 6),
        (1, "tfrecord", ("examples", 0), 7),
        (1, "tfrecord", ("write", 0), 9),
        (1, "tfrecord", ("write", 2), 11),
        (1, "store", ("tokenize", 0), 0),
        (1, "store", ("shuffle", 1), 7),
        pytest.param(2, "tfrecord", ("write", 2), 11, marks=pytest.mark.slow),
        pytest.param(2, "store", ("shuffle", 1), 7, marks=pytest.mark.slow),
    ],
)
def test_resume_after_interrupt(
    prepared, corpus, tokenizer, tmp_path, num_workers, format, moment, num_done
):
    arguments = corpus, tokenizer, tmp_path, CONFIG
    options = {"format": format, "num_workers": num_workers}
    interrupt(moment, *arguments, **options)
    done = finished_tasks(tmp_path)
    assert len(corpus.parts) == 6
    # What workers had begun is finished.
    assert num_done <= len(done) <= num_done + (num_workers - 1) * 4
    shards = times_of(tmp_path.glob("[!.]*-of-*"))
    assert not (tmp_path / "dataset.json").exists()

    # Now until just before the end, to see what has been done again.
    last = ("shuffle", 1) if format == "store" else ("write", 3)
    interrupt(last, *arguments, **options)
    assert done.items() <= finished_tasks(tmp_path).items()
    if moment == ("write", 2):
        assert len(shards) >= 2
        assert shards.items() <= times_of(tmp_path.iterdir()).items()

    # The number of workers may change.
    report = prepare_pretraining_data(*arguments, format=format)
    assert report == prepared[format][1]
    assert content(tmp_path) == content(prepared[format][0])


def test_leftovers_of_a_killed_call_are_deleted(corpus, tokenizer, tmp_path):
    # Killed before it had written its plan.
    (tmp_path / UNFINISHED / ".albert_keras-123").mkdir(parents=True)
    (tmp_path / UNFINISHED / ".albert_keras-123" / "plan.json").write_text("{")
    report = prepare_records(corpus, tokenizer, tmp_path, CONFIG)
    expected = content(tmp_path)
    assert len(expected) == 4
    # When all was finished but the deletion.
    (tmp_path / UNFINISHED / "tokens").mkdir(parents=True)
    (tmp_path / UNFINISHED / "write-000001.json").write_text("[]")
    (tmp_path / LOCK).touch()
    again = prepare_records(corpus, tokenizer, tmp_path, CONFIG)
    assert again == report
    assert content(tmp_path) == expected
    assert not (tmp_path / UNFINISHED).exists()
    # While another call reads the same.
    with claimed_by_another(tmp_path):
        again = prepare_records(corpus, tokenizer, tmp_path, CONFIG)
    assert again == report


def test_damaged_work_is_deleted(prepared, corpus, tokenizer, tmp_path):
    interrupt(("shuffle", 0), corpus, tokenizer, tmp_path, CONFIG)
    run = sorted((tmp_path / UNFINISHED / "documents").iterdir())[3]
    run.write_bytes(run.read_bytes()[:-1])
    with pytest.raises(ValueError, match=f"must be whole.*{run.name}"):
        prepare_records(corpus, tokenizer, tmp_path, CONFIG)
    assert content(tmp_path) == {}
    prepare_records(corpus, tokenizer, tmp_path, CONFIG)
    assert content(tmp_path) == content(prepared["tfrecord"][0])


# === Folders that hold something else ===


@pytest.mark.parametrize("is_finished", [True, False])
def test_folder_with_data_of_other_arguments(
    prepared, corpus, documents, tokenizer, tmp_path, is_finished
):
    folder = prepared["tfrecord"][0]
    if not is_finished:
        folder = tmp_path / "unfinished_data"
        interrupt(("shuffle", 1), corpus, tokenizer, folder, CONFIG)
    before = times_of(folder.rglob("*"))
    other = dataclasses.replace(CONFIG, masking="token", seed=7)
    message = "masking was 'ngram' and is 'token', seed was 5 and is 7. Repeat them"
    with pytest.raises(ValueError, match=message):
        prepare_records(corpus, tokenizer, folder, other)
    with pytest.raises(ValueError, match="where kind was 'records' and is 'tokens'"):
        prepare_pretraining_data(corpus, tokenizer, folder, CONFIG)
    with pytest.raises(ValueError, match="where the corpus has changed in 'documents'"):
        prepare_records(documents[1:], tokenizer, folder, CONFIG)
    assert times_of(folder.rglob("*")) == before


def test_a_changed_file_is_named(documents, tokenizer, tmp_path):
    folder, paths = tmp_path / "data", [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in paths:
        path.write_text("\n\n".join(map("\n".join, documents[:9])))
    interrupt(("shuffle", 1), paths, tokenizer, folder, CONFIG)
    content = paths[1].read_text()
    paths[1].write_text(content.swapcase())
    with pytest.raises(ValueError, match="the corpus has changed in '.*/b.txt'"):
        prepare_records(paths, tokenizer, folder, CONFIG)
    paths[1].write_text(content)
    replaced = open_corpus(paths, errors="replace")
    with pytest.raises(ValueError, match="the corpus is read in another way"):
        prepare_records(replaced, tokenizer, folder, CONFIG)
    # Moved, it has the same content.
    paths[1] = paths[1].rename(tmp_path / "moved.txt")
    prepare_records(paths, tokenizer, folder, CONFIG)


def test_arguments_in_another_order_are_an_error(documents, tokenizer, tmp_path):
    with pytest.raises(
        TypeError, match="corpus, tokenizer, output_dir. Received: .*a'"
    ):
        prepare_records(documents, str(tmp_path / "data"), tokenizer, CONFIG)


def test_only_one_call_writes_to_a_folder(corpus, tokenizer, tmp_path):
    with claimed_by_another(tmp_path / "data"):
        with pytest.raises(BlockingIOError, match="Received: '.*data'"):
            prepare_records(corpus, tokenizer, tmp_path / "data", CONFIG)
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_not_touched(documents, tokenizer, tmp_path):
    notes = tmp_path / ".notes.txt"
    notes.write_text("kept")
    with pytest.raises(FileExistsError, match="new or empty.*with '.notes.txt'"):
        prepare_records(documents, tokenizer, tmp_path, CONFIG)
    with pytest.raises(FileExistsError, match="File exists: '.*notes.txt'"):
        prepare_records(documents, tokenizer, notes, CONFIG)
    # A folder of that name with other things is not ours either.
    (tmp_path / "mine" / UNFINISHED).mkdir(parents=True)
    (tmp_path / "mine" / UNFINISHED / "thesis.txt").write_text("kept too")
    with pytest.raises(FileExistsError, match=f"with '{UNFINISHED}'"):
        prepare_records(documents, tokenizer, tmp_path / "mine", CONFIG)
    assert content(tmp_path) == {
        ".notes.txt": b"kept",
        f"mine/{UNFINISHED}/thesis.txt": b"kept too",
    }


# === Bad input ===


@pytest.mark.parametrize(
    ("format", "num_workers"), [("tfrecord", 1), ("store", 1), ("tfrecord", 2)]
)
def test_no_examples(tokenizer, tmp_path, format, num_workers):
    message = (
        "at least one example. Received: num_documents=3, dropped_documents="
        "{'no_tokens': 1, 'one_sentence': 2}, num_skipped_chunks="
    )
    options = {"format": format, "num_workers": num_workers}
    texts = [["abc"], [" "], ["de"]]
    with pytest.raises(ValueError, match=message):
        prepare_records(texts, tokenizer, tmp_path, CONFIG, **options)
    assert content(tmp_path) == {}


def test_predictions_that_cut_the_masked_rate(documents, tokenizer, tmp_path):
    config = dataclasses.replace(CONFIG, sequence_length=509, max_predictions=20)
    message = "at least 76, to mask 15% of 509 tokens. Received: max_predictions=20"
    with pytest.warns(UserWarning, match=message) as caught:
        prepare_pretraining_data(documents, tokenizer, tmp_path, config)
    assert [warning.filename for warning in caught] == [__file__]


def test_invalid_arguments(tokenizer, tmp_path):
    folder = tmp_path / "data"
    with pytest.raises(ValueError, match="`num_workers` must be.*num_workers=0"):
        prepare_records([["abc"]], tokenizer, folder, CONFIG, num_workers=0)
    assert list(tmp_path.iterdir()) == []


# === Held-out documents ===


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


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_each_document_is_on_one_side(prepared, corpus, tokenizer, tmp_path, share):
    calls = []
    options = {
        "validation_split": share,
        "progress": lambda *call: calls.append(call[0]),
    }
    prepare_pretraining_data(corpus, tokenizer, tmp_path, CONFIG, **options)
    train, held_out = documents_of(tmp_path), documents_of(tmp_path / HELD_OUT)
    assert not train & held_out
    assert train | held_out == documents_of(prepared["store"][0])
    assert len(held_out) == round(share * 83)
    report = read_description(tmp_path / HELD_OUT)["report"]
    assert report["num_documents"] == len(held_out)
    assert report["num_corpus_tokens"] == sum(map(len, held_out))
    assert report["num_examples"] > 0
    assert list(dict.fromkeys(calls)) == ["tokenize", "shuffle", "held_out", "examples"]


def test_held_out_documents_of_records(corpus, tokenizer, tmp_path):
    """Interrupted and resumed, with other arguments refused, and with another seed."""
    options = {"validation_split": 0.2}
    arguments = corpus, tokenizer, tmp_path / "data", CONFIG
    interrupt(("examples", 1), *arguments, **options)
    prepare_records(*arguments, **options)
    held_out = tmp_path / "data" / HELD_OUT
    assert read_description(tmp_path / "data")["kind"] == "records"
    assert read_description(held_out)["kind"] == "tokens"
    assert not (tmp_path / "data" / UNFINISHED).exists()
    other = {"validation_split": 0.3}
    for options, share in ((other, "0.3"), ({}, "0")):
        message = rf"validation_split was 0\.2 and is {share}"
        with pytest.raises(ValueError, match=message):
            prepare_records(*arguments, **options)
    config = dataclasses.replace(CONFIG, seed=6)
    again = tmp_path / "again"
    prepare_records(corpus, tokenizer, again, config, validation_split=0.2)
    assert documents_of(again / HELD_OUT) != documents_of(held_out)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            [["one small text", "its end"]],
            "two documents at least. Received: 1. Sep",
        ),
        ([["one small text"], ["another"]], "held-out .* one example. .*documents=1,"),
    ],
)
def test_what_cannot_be_held_out(texts, message, tokenizer, tmp_path):
    with pytest.raises(ValueError, match=message):
        prepare_records(texts, tokenizer, tmp_path, validation_split=None)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
