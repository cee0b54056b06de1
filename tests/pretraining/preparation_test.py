"""Preparation: reproducible bytes, resume, and invalid input."""

import dataclasses
import itertools

import numpy as np
import pytest

from albert_keras.pretraining import preparation
from albert_keras.pretraining.documents import join_documents, tokenize_documents
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.jobs import UNFINISHED
from albert_keras.pretraining.preparation import prepare_pretraining_data
from albert_keras.pretraining.records import (
    find_shards,
    read_description,
)
from albert_keras.pretraining.token_store import read_block
from albert_keras.system.files import LOCK
from albert_keras.text.corpus import open_corpus
from tests.pretraining.random_documents import as_lists
from tests.pretraining.record_folders import read_examples
from tests.pretraining.without_tensorflow import prepare_without_tensorflow
from tests.processes import claimed_by_another

CONFIG = PretrainingDataConfig(sequence_length=61, dupe_factor=2, num_shards=3, seed=5)
KINDS = pytest.mark.parametrize("dynamic", [False, True], ids=["records", "tokens"])


@pytest.fixture(scope="module")
def corpus(documents):
    """The documents in six parts."""
    return open_corpus(documents, part_bytes=20_000)


@pytest.fixture(scope="module")
def prepared(corpus, tokenizer, tmp_path_factory):
    """Data of both kinds: `{dynamic: (folder, report, progress)}`."""
    made = {}
    for dynamic in (False, True):
        folder, calls = tmp_path_factory.mktemp("prepared") / "data", []
        report = prepare_pretraining_data(
            corpus,
            tokenizer,
            folder,
            CONFIG,
            dynamic=dynamic,
            progress=lambda *call, calls=calls: calls.append(call),
        )
        made[dynamic] = folder, report, calls
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
    folder, report, calls = prepared[False]
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
    rates = report.rates
    assert rates["real_token_share"] == sum(lengths) / (61 * len(examples))
    assert rates["masked_rate"] == report.num_predictions / sum(lengths)
    assert rates["label_shares"]["swapped"] == sum(labels) / len(examples)
    assert 0.145 < rates["masked_rate"] < 0.155
    assert 0.45 < rates["label_shares"]["swapped"] < 0.55
    assert report.run_counts[0] > report.run_counts[1] > report.run_counts[2] > 0

    num_bytes = sum(len(sentence) for document in documents for sentence in document)
    stages = itertools.groupby(calls, key=lambda call: call[0])
    stages = {stage: [call[1:] for call in calls] for stage, calls in stages}
    assert list(stages) == ["tokenize", "shuffle", "examples", "write"]
    assert len(stages["tokenize"]) > 4
    assert stages["tokenize"][-1] == (num_bytes, num_bytes)
    assert stages["shuffle"] == [(0, 1), (1, 1)]
    total = 2 * tokens.num_tokens
    assert stages["examples"] == [(0, total), (total, total)]
    assert stages["write"] == [(done, 3) for done in range(4)]


def test_unknown_tokens_are_counted(tokenizer, tmp_path):
    texts = [["Ж abc de", "abc Ж Ж abc"], ["de abc", "abc abc"]]
    report = prepare_pretraining_data(texts, tokenizer, tmp_path, CONFIG)
    sentences = list(itertools.chain.from_iterable(texts))
    ids = tokenizer.encoder.encode_ragged(sentences)[0]
    assert report.num_unknown == np.count_nonzero(ids == tokenizer.unk_token_id) == 3
    assert report.rates["unknown_rate"] == 3 / len(ids)


def test_token_store_has_the_corpus(prepared, documents, tokenizer):
    folder, report, calls = prepared[True]
    blocks = [
        read_block(folder / name, block)
        for name, blocks in read_description(folder)["shards"].items()
        for block in blocks
    ]
    stored = as_lists(join_documents(blocks))
    expected = as_lists(tokenize_documents(documents, tokenizer.encoder))
    assert sorted(stored) == sorted(expected)
    assert stored != expected
    assert {stage for stage, *_ in calls} == {"tokenize", "shuffle", "examples"}
    # Examples are counted in a first pass: half of what two passes give, but for chance.
    records = prepared[False][1]
    assert report.num_corpus_tokens == records.num_corpus_tokens
    assert report.num_examples == pytest.approx(records.num_examples / 2, rel=0.05)
    assert 0.145 < report.rates["masked_rate"] < 0.155


@KINDS
def test_description(prepared, tokenizer, dynamic):
    folder, report, _ = prepared[dynamic]
    description = read_description(folder)
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(["dataset.json", *description["shards"]])
    if dynamic:
        assert list(description["shards"]) == ["documents-00000-of-00001.tokens"]
    else:
        assert list(description["shards"]) == [p.name for p in find_shards(folder)]
        shards = description["shards"].values()
        assert sum(shard["examples"] for shard in shards) == report.num_examples
    expected = {
        "kind": "tokens" if dynamic else "records",
        "config": dataclasses.asdict(CONFIG),
        "tokenizer_fingerprint": tokenizer.fingerprint(),
        "sequence_length": 61,
        "max_predictions": 9,
        "max_pairs": 0,
        "vocabulary_size": 331,
        "special_token_ids": [0, 1, 2, 3, 4],
        "sentence_pairs": "sop",
        "report": report.to_dict(),
    }
    assert {name: description[name] for name in expected} == expected
    others = {"shards", "input_fingerprint", "input_files"}
    assert set(description) - set(expected) == others


def test_sizes_of_other_objectives(documents, tokenizer, tmp_path):
    config = PretrainingDataConfig(
        sequence_length=73, packing="filled", permutation=True, dupe_factor=1
    )
    report = prepare_pretraining_data(documents[:29], tokenizer, tmp_path, config)
    description = read_description(tmp_path)
    assert description["max_predictions"] == 2 * 11
    examples = [e for path in find_shards(tmp_path) for e in read_examples(path)]
    assert {len(e["pair_positions"]) for e in examples} == {description["max_pairs"]}
    assert report.num_pairs == sum(e["sop_weight"].sum() for e in examples)
    assert report.num_pairs > report.num_examples == len(examples)
    assert report.rates["real_token_share"] > 0.9


# === Same seed, same bytes ===


@pytest.fixture(scope="module")
def text(documents, tmp_path_factory):
    """A file of two parts, and of three blocks of tokens."""
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    once = "\n\n".join("\n".join(document) for document in documents)
    path.write_text("\n\n".join([once] * 21))
    assert len(open_corpus(path).parts) == 2
    return path


@pytest.mark.slow
@KINDS
def test_bytes_do_not_depend_on_workers(
    text, tokenizer, tmp_path, dynamic, monkeypatch
):
    # Two tasks for each block.
    monkeypatch.setattr(preparation, "_PASSES_TOGETHER", 1)
    config = dataclasses.replace(CONFIG, sequence_length=509)
    made = []
    for num_workers in (1, 3):
        folder = tmp_path / str(num_workers)
        prepare_pretraining_data(
            text, tokenizer, folder, config, dynamic=dynamic, num_workers=num_workers
        )
        made.append(content(folder))
    if dynamic:
        (blocks,) = read_description(folder)["shards"].values()
        assert len(blocks) == 3
    assert made[0] == made[1]


@KINDS
def test_bytes_depend_on_the_seed(prepared, corpus, tokenizer, tmp_path, dynamic):
    other = dataclasses.replace(CONFIG, seed=6)
    prepare_pretraining_data(corpus, tokenizer, tmp_path, other, dynamic=dynamic)
    found, expected = content(tmp_path), content(prepared[dynamic][0])
    assert list(found) == list(expected)
    assert not {*found.values()} & {*expected.values()}


def test_passes_are_spread_over_shards(prepared):
    shards = read_description(prepared[False][0])["shards"].values()
    counts = np.array([shard["examples"] for shard in shards])
    expected = counts.sum() / 3
    # Binomial: four standard deviations.
    assert np.abs(counts - expected).max() < 4 * np.sqrt(expected * 2 / 3)


def test_without_tensorflow_and_keras(prepared, corpus, tokenizer, tmp_path):
    calls = {tmp_path / f"{kind}": {"dynamic": kind} for kind in prepared}
    flags = ("-W", "error")
    assert prepare_without_tensorflow(corpus, tokenizer, CONFIG, calls, *flags) == ""
    for dynamic, (folder, *_) in prepared.items():
        assert content(tmp_path / f"{dynamic}") == content(folder)


# === What is finished is not done again ===


@KINDS
def test_a_finished_preparation_is_not_repeated(prepared, corpus, tokenizer, dynamic):
    folder, report, _ = prepared[dynamic]
    before = times_of(folder.rglob("*"))

    def refuse(*call):
        raise AssertionError(call)

    again = prepare_pretraining_data(
        corpus,
        tokenizer,
        folder,
        CONFIG,
        dynamic=dynamic,
        num_workers=2,
        progress=refuse,
    )
    assert again == report
    assert times_of(folder.rglob("*")) == before


class Interrupted:
    """Progress callback that interrupts at one moment and records the calls before."""

    def __init__(self, *moment):
        self.moment, self.calls = moment, []

    def __call__(self, stage, done, total):
        self.calls.append((stage, done))
        if (stage, done) == self.moment:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("num_workers", "dynamic", "moment", "num_done"),
    [
        (1, False, ("tokenize", 0), 0),
        (1, False, ("shuffle", 0), 6),
        (1, False, ("examples", 0), 7),
        (1, False, ("write", 0), 8),
        (1, False, ("write", 2), 10),
        (1, True, ("tokenize", 0), 0),
        (1, True, ("shuffle", 1), 7),
        pytest.param(2, False, ("write", 2), 10, marks=pytest.mark.slow),
        pytest.param(2, True, ("shuffle", 1), 7, marks=pytest.mark.slow),
    ],
)
def test_resume_after_interrupt(
    prepared, corpus, tokenizer, tmp_path, num_workers, dynamic, moment, num_done
):
    arguments = corpus, tokenizer, tmp_path, CONFIG
    options = {"dynamic": dynamic, "num_workers": num_workers}
    with pytest.raises(KeyboardInterrupt):
        prepare_pretraining_data(*arguments, **options, progress=Interrupted(*moment))
    done = finished_tasks(tmp_path)
    assert len(corpus.parts) == 6
    # What workers had begun is finished.
    assert num_done <= len(done) <= num_done + (num_workers - 1) * 4
    shards = times_of(tmp_path.glob("[!.]*-of-*"))
    assert not (tmp_path / "dataset.json").exists()

    # Now until just before the end, to see what has been done again.
    last = ("shuffle", 1) if dynamic else ("write", 3)
    with pytest.raises(KeyboardInterrupt):
        prepare_pretraining_data(*arguments, **options, progress=Interrupted(*last))
    assert done.items() <= finished_tasks(tmp_path).items()
    if moment == ("write", 2):
        assert len(shards) >= 2
        assert shards.items() <= times_of(tmp_path.iterdir()).items()

    report = prepare_pretraining_data(*arguments, **options)
    assert report == prepared[dynamic][1]
    assert content(tmp_path) == content(prepared[dynamic][0])


def test_resume_with_other_num_workers(prepared, corpus, tokenizer, tmp_path):
    for num_workers, moment in ((2, ("shuffle", 1)), (1, ("write", 1))):
        with pytest.raises(KeyboardInterrupt):
            prepare_pretraining_data(
                corpus,
                tokenizer,
                tmp_path,
                CONFIG,
                num_workers=num_workers,
                progress=Interrupted(*moment),
            )
    prepare_pretraining_data(corpus, tokenizer, tmp_path, CONFIG)
    assert content(tmp_path) == content(prepared[False][0])


def test_leftovers_of_a_killed_call_are_deleted(corpus, tokenizer, tmp_path):
    # Killed before it had written its plan.
    (tmp_path / UNFINISHED / ".albert_keras-123").mkdir(parents=True)
    (tmp_path / UNFINISHED / ".albert_keras-123" / "plan.json").write_text("{")
    report = prepare_pretraining_data(corpus, tokenizer, tmp_path, CONFIG)
    expected = content(tmp_path)
    assert len(expected) == 4
    # When all was finished but the deletion.
    (tmp_path / UNFINISHED / "tokens").mkdir(parents=True)
    (tmp_path / UNFINISHED / "write-000001.json").write_text("[]")
    (tmp_path / LOCK).touch()
    again = prepare_pretraining_data(corpus, tokenizer, tmp_path, CONFIG)
    assert again == report
    assert content(tmp_path) == expected
    assert not (tmp_path / UNFINISHED).exists()
    # While another call reads the same.
    with claimed_by_another(tmp_path):
        again = prepare_pretraining_data(corpus, tokenizer, tmp_path, CONFIG)
    assert again == report


def test_damaged_work_is_deleted(prepared, corpus, tokenizer, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        prepare_pretraining_data(
            corpus, tokenizer, tmp_path, CONFIG, progress=Interrupted("shuffle", 0)
        )
    run = sorted(tmp_path.rglob("*.run"))[3]
    run.write_bytes(run.read_bytes()[:-1])
    with pytest.raises(ValueError, match=f"must be whole.*{run.name}"):
        prepare_pretraining_data(corpus, tokenizer, tmp_path, CONFIG)
    assert content(tmp_path) == {}
    prepare_pretraining_data(corpus, tokenizer, tmp_path, CONFIG)
    assert content(tmp_path) == content(prepared[False][0])


# === Folders that hold something else ===


@pytest.mark.parametrize("is_finished", [True, False])
def test_folder_with_data_of_other_arguments(
    prepared, corpus, documents, tokenizer, tmp_path, is_finished
):
    folder = prepared[False][0]
    if not is_finished:
        folder = tmp_path / "unfinished_data"
        with pytest.raises(KeyboardInterrupt):
            prepare_pretraining_data(
                corpus, tokenizer, folder, CONFIG, progress=Interrupted("shuffle", 1)
            )
    before = times_of(folder.rglob("*"))
    other = dataclasses.replace(CONFIG, masking="token", seed=7)
    message = "masking was 'ngram' and is 'token', seed was 5 and is 7. Repeat them"
    with pytest.raises(ValueError, match=message):
        prepare_pretraining_data(corpus, tokenizer, folder, other)
    with pytest.raises(ValueError, match="where kind was 'records' and is 'tokens'"):
        prepare_pretraining_data(corpus, tokenizer, folder, CONFIG, dynamic=True)
    with pytest.raises(ValueError, match="where the corpus has changed in 'documents'"):
        prepare_pretraining_data(documents[1:], tokenizer, folder, CONFIG)
    assert times_of(folder.rglob("*")) == before


def write_corpus(path, documents):
    path.write_text("\n\n".join(map("\n".join, documents)))
    return path


def test_a_corpus_is_known_by_its_content(documents, tokenizer, tmp_path):
    path = write_corpus(tmp_path / "corpus.txt", documents[:9])
    folder = tmp_path / "data"
    report = prepare_pretraining_data(path, tokenizer, folder, CONFIG)
    moved = path.rename(tmp_path / "moved.txt")
    assert prepare_pretraining_data(moved, tokenizer, folder, CONFIG) == report


def test_a_changed_file_is_named(documents, tokenizer, tmp_path):
    paths = [
        write_corpus(tmp_path / name, documents[:9]) for name in ("a.txt", "b.txt")
    ]
    folder = tmp_path / "data"
    with pytest.raises(KeyboardInterrupt):
        prepare_pretraining_data(
            paths, tokenizer, folder, CONFIG, progress=Interrupted("shuffle", 1)
        )
    content = paths[1].read_text()
    paths[1].write_text(content.swapcase())
    with pytest.raises(ValueError, match="the corpus has changed in '.*/b.txt'"):
        prepare_pretraining_data(paths, tokenizer, folder, CONFIG)
    paths[1].write_text(content)
    replaced = open_corpus(paths, errors="replace")
    with pytest.raises(ValueError, match="the corpus was read with another format"):
        prepare_pretraining_data(replaced, tokenizer, folder, CONFIG)
    prepare_pretraining_data(paths, tokenizer, folder, CONFIG)


@pytest.mark.parametrize("claimed", ["data", "held_out"])
def test_only_one_call_writes_to_a_folder(corpus, tokenizer, tmp_path, claimed):
    folders = tmp_path / "data", tmp_path / "held_out"
    with claimed_by_another(tmp_path / claimed):
        with pytest.raises(BlockingIOError, match=f"Received: '.*{claimed}'"):
            prepare_pretraining_data(
                corpus, tokenizer, folders[0], CONFIG, held_out_dir=folders[1]
            )
    assert list(tmp_path.iterdir()) == []


def test_arguments_in_another_order_are_refused(tmp_path, tokenizer):
    with pytest.raises(TypeError, match="order is corpus, tokenizer, output_dir. Rec"):
        prepare_pretraining_data(["a"], str(tmp_path), tokenizer)


def test_other_files_are_not_touched(documents, tokenizer, tmp_path):
    notes = tmp_path / ".notes.txt"
    notes.write_text("kept")
    with pytest.raises(FileExistsError, match="new or empty.*with '.notes.txt'"):
        prepare_pretraining_data(documents, tokenizer, tmp_path, CONFIG)
    with pytest.raises(ValueError, match="must be another folder than `output_dir`"):
        prepare_pretraining_data(
            documents, tokenizer, tmp_path, CONFIG, held_out_dir=tmp_path
        )
    message = "must be a folder. Received: '.*notes.txt', a file"
    with pytest.raises(FileExistsError, match=message):
        prepare_pretraining_data(documents, tokenizer, notes, CONFIG)
    # A folder of that name with other things is not ours either.
    (tmp_path / "mine" / UNFINISHED).mkdir(parents=True)
    (tmp_path / "mine" / UNFINISHED / "thesis.txt").write_text("kept too")
    with pytest.raises(FileExistsError, match=f"with '{UNFINISHED}'"):
        prepare_pretraining_data(documents, tokenizer, tmp_path / "mine", CONFIG)
    assert content(tmp_path) == {
        ".notes.txt": b"kept",
        f"mine/{UNFINISHED}/thesis.txt": b"kept too",
    }


# === Bad input ===


@pytest.mark.parametrize(
    ("dynamic", "num_workers"), [(False, 1), (True, 1), (False, 2)]
)
def test_no_examples(tokenizer, tmp_path, dynamic, num_workers):
    message = (
        "at least one example. Received: num_documents=3, dropped_documents="
        "{'no_tokens': 1, 'one_sentence': 2}, num_skipped_chunks="
    )
    with pytest.raises(ValueError, match=message):
        prepare_pretraining_data(
            [["abc"], [" "], ["de"]],
            tokenizer,
            tmp_path,
            CONFIG,
            dynamic=dynamic,
            num_workers=num_workers,
        )
    assert content(tmp_path) == {}


@pytest.mark.parametrize("num_workers", [1, 2])
def test_file_that_is_not_utf8(tokenizer, tmp_path, num_workers):
    path = tmp_path / "corpus.txt"
    path.write_bytes(b"good line\nbad \xff line\n")
    with pytest.raises(ValueError, match="UTF-8.*corpus.txt', which is not at byte 14"):
        prepare_pretraining_data(
            path, tokenizer, tmp_path / "data", CONFIG, num_workers=num_workers
        )
    assert content(tmp_path / "data") == {}


def test_invalid_corpora(tokenizer, tmp_path):
    folder = tmp_path / "data"
    with pytest.raises(TypeError, match="list of sentences. Received: 17"):
        prepare_pretraining_data([["abc"], 17], tokenizer, folder, CONFIG)
    with pytest.raises(FileNotFoundError, match="absent.txt"):
        prepare_pretraining_data("absent.txt", tokenizer, folder, CONFIG)
    with pytest.raises(ValueError, match="`num_workers` must be.*num_workers=0"):
        prepare_pretraining_data([["abc"]], tokenizer, folder, CONFIG, num_workers=0)
    assert list(tmp_path.iterdir()) == []


def test_warning_names_the_caller(documents, tokenizer, tmp_path):
    config = dataclasses.replace(CONFIG, sequence_length=509, max_predictions=20)
    message = (
        "max_predictions=20, sequence_length=509, so that 3.9% of a full example is "
        "masked, not 15.0%"
    )
    with pytest.warns(UserWarning, match=message) as caught:
        report = prepare_pretraining_data(documents, tokenizer, tmp_path, config)
    assert [warning.filename for warning in caught] == [__file__]
    assert 0.039 < report.rates["masked_rate"] < 0.06


# === Negatives ===


def prepare_nsp(documents, tokenizer, folder):
    """Returns the examples with their tokens before masking."""
    config = dataclasses.replace(
        CONFIG,
        sentence_pairs="nsp",
        one_sentence_chunks="random_document",
        short_sequence_prob=0.0,
    )
    prepare_pretraining_data(documents, tokenizer, folder, config)
    examples = [e for path in find_shards(folder) for e in read_examples(path)]
    for example in examples:
        num_masked = int(example["mask_weights"].sum())
        positions = example["mask_positions"][:num_masked]
        example["token_ids"][positions] = example["mask_ids"][:num_masked]
    return examples


def test_negatives_come_from_another_document(tokenizer, tmp_path):
    documents = [[f"{c}{c} " * 97, f"{c} {c}"] * 3 for c in "abc"]
    blank = ["  "]
    examples = prepare_nsp([blank, *documents, blank], tokenizer, tmp_path)
    alphabet = {
        token_id: letter
        for letter in "abc"
        for token_id in tokenizer.tokenize(f"{letter} {letter}{letter}")
    }
    labels = [example["sop_label"] for example in examples]
    assert 5 < sum(labels) < len(labels) - 5
    for example in examples:
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
        assert bool(first & second) == (not example["sop_label"])


def test_single_document_has_no_negatives(documents, tokenizer, tmp_path):
    longest = max(documents, key=len)
    examples = prepare_nsp([longest, [" "]], tokenizer, tmp_path)
    assert len(examples) > 5
    assert not any(example["sop_label"] for example in examples)
