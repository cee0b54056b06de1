"""`prepare-data`: options, reports, full disks, bad input."""

import contextlib
import gzip
import io
import json
import shutil
import struct

import numpy as np
import pytest

from albert_keras import sample
from albert_keras.cli import main
from albert_keras.pretraining.records import find_shards
from albert_keras.pretraining.token_store import read_description
from tests.forked_processes import forked_processes, run_command
from tests.pretraining.record_folders import read_examples

LENGTH = 47
SMALL = ["--sequence-length", LENGTH, "--num-shards", 3]
SMALL += ["--format", "tfrecord", "--dupe-factor", 2]


def command(vocabulary, output, *words, source=sample.CORPUS):
    words = ["--tokenizer", vocabulary, "--workers", 1, *words]
    words += ["--validation-split", 0]
    words = ["prepare-data", source, *words]
    return [str(word) for word in [*words, "--output", output]]


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def examples_of(folder):
    return [e for path in find_shards(folder) for e in read_examples(path)]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A file of the sample's first 101 documents."""
    path = tmp_path_factory.mktemp("sources") / "corpus.txt"
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    path.write_text("\n\n".join(documents[:101]))
    return path


@pytest.fixture(scope="module")
def prepared(vocabulary, sources, tmp_path_factory):
    """Data of the options `SMALL`, made by two processes, and the results of that."""
    folder = tmp_path_factory.mktemp("prepared") / "data"
    words = command(vocabulary, folder, *SMALL, "--workers", 2, source=sources)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        assert main([*words, "--json"]) == 0
    return folder, json.loads(output.getvalue())


# === Options and reports ===


def masked_words(example):
    """Returns whether each word that is masked at all is masked whole."""
    positions = example["mask_positions"][example["mask_weights"] > 0]
    is_masked = np.zeros(LENGTH, bool)
    is_masked[positions] = True
    words = np.cumsum(example["word_starts"])
    # [PAD], [CLS] and [SEP] are part of no word.
    words[np.isin(example["token_ids"], [0, 2, 3])] = -1
    return [is_masked[words == word].all() for word in np.unique(words[is_masked])]


@pytest.mark.parametrize(
    "options",
    [
        ["--sentence-pairs", "nsp"],
        ["--sentence-pairs", "ternary", "--pair-gap", 1],
        ["--sentence-pairs", "none", "--short-sequence-prob", 0],
        ["--masking", "token"],
        ["--masking", "whole_word"],
        ["--favor-longer", "--max-ngram", 2],
        ["--packing", "filled"],
        ["--masked-rate", 0.4, "--random-replacements", "vocabulary"],
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_options_reach_the_records(vocabulary, sources, tmp_path, call, options):
    words = command(vocabulary, tmp_path, *SMALL, *options, source=sources)
    report = call(*words)
    description = read_description(tmp_path)
    config, examples = description["config"], examples_of(tmp_path)
    assert len(examples) == report["num_examples"] > 100
    whole = np.mean([word for example in examples for word in masked_words(example)])
    shares = report["run_shares"]
    match options[0]:
        case "--sentence-pairs" if options[1] == "nsp":
            assert config["sentence_pairs"] == "nsp"
            assert 0.4 < report["label_shares"]["random"] < 0.7
        case "--sentence-pairs" if options[1] == "ternary":
            assert (config["sentence_pairs"], config["pair_gap"]) == ("ternary", 1)
            assert {*report["label_counts"]} == {"next", "previous", "random"}
            assert all(0.2 < share < 0.5 for share in report["label_shares"].values())
        case "--sentence-pairs":
            assert report["label_shares"] == {}
            assert not any(example["segment_ids"].any() for example in examples)
        case "--masking" if options[1] == "token":
            assert whole < 0.9
        case "--masking":
            assert whole == 1
            assert shares == [1]
        case "--favor-longer":
            # Longer runs are drawn more often, but do not always fit.
            assert len(shares) == 2
            assert shares[1] > 0.4
        case "--packing":
            assert report["real_token_share"] > 0.98
            assert report["num_pairs"] > report["num_examples"]
            assert max(example["sequence_ids"].max() for example in examples) > 1
        case "--masked-rate":
            assert len(examples[0]["mask_ids"]) == 19
            assert 0.35 < report["masked_rate"] < 0.42


@pytest.mark.slow
def test_the_report_as_json_and_as_a_table(vocabulary, sources, prepared, tmp_path):
    data, results = prepared
    assert results == {"output": str(data), **read_description(data)["report"]}
    assert results["num_documents"] == 101

    with forked_processes() as start:
        words = command(vocabulary, tmp_path / "same", *SMALL, source=sources)
        process = start(run_command, *words)
        output, errors = process.communicate()
    assert process.returncode == 0
    assert content(tmp_path / "same") == content(data)
    for name in ("num_documents", "masked_rate", "real_token_share", "run_shares"):
        assert f"│ {name}" in output
    assert f"{results['masked_rate']:.4f}" in output
    lines = errors.splitlines()
    for stage, unit in (
        ("tokenize", "bytes/s"),
        ("shuffle", "files/s"),
        ("examples", "passes/s"),
        ("write", "files/s"),
    ):
        (line,) = [line for line in lines if line.startswith(stage)]
        assert "100%" in line
        assert unit in line
        assert " 0.0 " not in line


def test_the_report_as_a_picture(vocabulary, sources, tmp_path, call, fail):
    pytest.importorskip("matplotlib")
    words = command(vocabulary, tmp_path / "data", *SMALL, source=sources)
    line = fail(*words, "--plot", tmp_path / "report.txt")
    assert "report.txt" in line
    assert list(tmp_path.iterdir()) == []
    call(*words, "--plot", tmp_path / "report.png")
    image = (tmp_path / "report.png").read_bytes()
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", image[16:24])
    assert width > height > 500


@pytest.mark.filterwarnings("default")
def test_a_cut_rate_gives_a_warning_of_one_line(vocabulary, sources, tmp_path, capsys):
    words = [*SMALL, "--max-predictions", 3]
    assert main(command(vocabulary, tmp_path / "data", *words, source=sources)) == 0
    err = capsys.readouterr().err
    (line,) = [line for line in err.splitlines() if "warning" in line]
    assert line.startswith(
        "albert-keras: warning: `max_predictions` cuts `masked_rate`"
    )
    assert "max_predictions=3, sequence_length=47, so that 6.4% of a full" in line
    assert "UserWarning" not in err


def test_tokens_rather_than_records(vocabulary, sources, tmp_path, call):
    words = command(vocabulary, tmp_path, "--seed", 9, source=sources)
    report = call(*words)
    description = read_description(tmp_path)
    assert description["kind"] == "tokens"
    assert description["config"]["seed"] == 9
    (blocks,) = description["shards"].values()
    assert sum(block["num_documents"] for block in blocks) == report["num_documents"]


def test_passes_have_no_effect_with_a_store(vocabulary, tmp_path, fail):
    line = fail(*command(vocabulary, tmp_path / "data", "--dupe-factor", 3))
    assert "no effect with a token store. Received: dupe_factor." in line
    assert not (tmp_path / "data").exists()


def test_jieba_finds_the_words_of_chinese_text(tmp_path, call):
    pytest.importorskip("jieba")
    sentences = ["研究生命的起源", "我们在北京大学学习计算机科学", "今天天气很好"]
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *sorted({*"".join(sentences)}),
    ]
    vocabulary, corpus = tmp_path / "vocab.txt", tmp_path / "corpus.txt"
    vocabulary.write_text("\n".join(pieces) + "\n")
    corpus.write_text("\n\n".join(["\n".join(sentences)] * 13))
    starts = {}
    for name, options in (("characters", []), ("words", ["--word-segmenter", "jieba"])):
        output = tmp_path / name
        call(*command(vocabulary, output, *SMALL, *options, source=corpus))
        examples = examples_of(output)
        real = sum(example["padding_mask"].sum() for example in examples)
        starts[name] = sum(example["word_starts"].sum() for example in examples) / real
        assert read_description(output)["config"]["word_segmenter"] == (
            "jieba" if options else None
        )
    # Every character, or about every second one.
    assert starts["characters"] > 0.9
    assert 0.3 < starts["words"] < 0.7


# === Apache Beam ===


@pytest.mark.slow
def test_a_beam_runner_gives_the_same_files(
    vocabulary, sources, prepared, tmp_path, call
):
    pytest.importorskip("apache_beam")
    options = [*SMALL, "--runner", "DirectRunner"]
    call(*command(vocabulary, tmp_path, *options, source=sources))
    assert content(tmp_path) == content(prepared[0])


# === Full disks and bad input ===


def run_on_a_full_disk(limit, *words):
    """Runs a command in which writes fail as on a full disk: files have a limit."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return run_command(*words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "num_workers", "stages"),
    [(20_000, 2, set()), (60_000, 1, {"tokenize", "shuffle", "examples"})],
)
def test_a_full_disk_keeps_what_is_finished(
    vocabulary, sources, prepared, tmp_path, call, limit, num_workers, stages
):
    output = tmp_path / "data"
    words = command(vocabulary, output, *SMALL, source=sources)
    words += ["--workers", str(num_workers)]
    with forked_processes() as start:
        process = start(run_on_a_full_disk, limit, *words)
        _, errors = process.communicate()
    assert process.returncode == 1, errors
    (line,) = [x for x in errors.splitlines() if x.startswith("albert-keras")]
    assert "File too large" in line
    assert f"Finished work is kept in '{output}': free some space and repeat" in line
    assert "Traceback" not in errors
    results = (output / "unfinished").glob("*-??????.json")
    assert {path.name.partition("-")[0] for path in results} == stages
    assert [path.name for path in output.iterdir()] == ["unfinished"]
    assert list(output.rglob(".*")) == []

    call(*words, "--workers", 1)
    assert content(output) == content(prepared[0])


def test_bytes_that_are_not_utf8(vocabulary, tmp_path, call, fail):
    corpus, output = tmp_path / "corpus.txt", tmp_path / "data"
    good = sample.CORPUS.read_bytes()[:20_000]
    corpus.write_bytes(good + b"\n\nA bad \xff\xfe line.\nAnd its end.\n")
    words = command(vocabulary, output, *SMALL, source=corpus)
    line = fail(*words)
    assert f"'{corpus}', which is not at byte {len(good) + 8}" in line
    assert "--errors replace" in line
    assert not output.exists()
    # What is repaired is another corpus, and nothing stands in its way.
    report = call(*words, "--errors", "replace")
    assert report["replaced_bytes"] == 2


def test_formats(vocabulary, sources, tmp_path, call, fail):
    documents = sources.read_text("utf-8").split("\n\n")
    rows = [json.dumps({"story": document.strip()}) for document in documents]
    path = tmp_path / "stories.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join([*rows, '{"story": " "}']).encode()))
    words = command(vocabulary, tmp_path / "data", *SMALL, source=tmp_path / "*.gz")
    line = fail(*words)
    assert "line 1: ['story']" in line
    assert "--text-column" in line
    report = call(*words, "--text-column", "story")
    assert report["num_documents"] == 102
    assert report["dropped_documents"]["no_tokens"] == 1
    # The suffix does not tell, and the format is not that of the file.
    other = tmp_path / "stories.log"
    other.write_bytes(sources.read_bytes())
    words = command(vocabulary, tmp_path / "log", *SMALL, source=other)
    line = fail(*words)
    assert "suffix" in line
    assert "stories.log" in line
    line = fail(*words, "--text-format", "jsonl")
    assert "stories.log', line 1" in line
    assert not (tmp_path / "log").exists()
    assert call(*words, "--text-format", "text")["num_documents"] == 101


def test_a_document_longer_than_any_limit_is_cut(vocabulary, tmp_path, call):
    corpus = tmp_path / "corpus.txt"
    text = " ".join(sample.CORPUS.read_text("utf-8").split())
    # One line, then lines without a blank one between them.
    corpus.write_text(" ".join([text] * 13) + "\n" + "One line.\nAnd one more.\n" * 99)
    report = call(
        *command(vocabulary, tmp_path / "data", *SMALL, source=corpus),
        *("--one-sentence-chunks", "random_document", "--dupe-factor", 1),
    )
    assert report["cut_documents"] >= 1
    assert report["num_documents"] == 1 + report["cut_documents"]
    assert report["num_corpus_tokens"] > 13 * 50_000


@pytest.mark.parametrize("text", ["", "\n \n\n", "only\n\none sentence\n\neach\n"])
def test_a_corpus_without_examples(vocabulary, tmp_path, fail, text):
    corpus, output = tmp_path / "corpus.txt", tmp_path / "data"
    corpus.write_text(text)
    for options in ([], ["--format", "tfrecord"]):
        line = fail(*command(vocabulary, output, *options, source=corpus))
        assert (
            "must hold a document" in line or "must give at least one example" in line
        )
        assert not output.exists() or list(output.iterdir()) == []


def test_missing_corpus_and_missing_vocabulary(vocabulary, tmp_path, fail):
    output = tmp_path / "data"
    absent = tmp_path / "absent.txt"
    assert "absent.txt" in fail(*command(vocabulary, output, source=absent))
    assert "absent.txt" in fail(*command(absent, output))
    assert not output.exists()


def test_a_vocabulary_without_special_pieces(sources, tmp_path, fail):
    import sentencepiece

    bare = tmp_path / "bare.model"
    sentencepiece.SentencePieceTrainer.train(
        input=str(sources),
        model_prefix=str(bare.with_suffix("")),
        vocab_size=301,
        minloglevel=2,
    )
    line = fail(*command(bare, tmp_path / "data", source=sources))
    assert "[CLS]" in line
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\nword\n")
    line = fail(*command(vocabulary, tmp_path / "data", source=sources))
    assert "[CLS]" in line
    assert not (tmp_path / "data").exists()


def test_output_that_holds_other_data(vocabulary, sources, prepared, tmp_path, fail):
    output = tmp_path / "data"
    shutil.copytree(prepared[0], output)
    words = command(vocabulary, output, *SMALL, source=sources)
    before = content(output)
    line = fail(*words, "--max-ngram", 2)
    assert "max_ngram was 3 and is 2. Repeat them, delete the folder" in line
    assert content(output) == before
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("kept")
    line = fail(*command(vocabulary, mine, source=sources))
    assert "with 'thesis.txt'" in line
    line = fail(*command(vocabulary, mine / "thesis.txt", source=sources))
    assert "File exists: '" in line
    assert content(mine) == {"thesis.txt": b"kept"}


def test_jieba_needs_word_pieces(vocabulary, sources, tmp_path, fail):
    options = ["--word-segmenter", "jieba"]
    words = command(vocabulary, tmp_path / "data", *options, source=sources)
    assert "WordPiece" in fail(*words)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--masked-rate", 1.5),
        ("--sequence-length", 4),
        ("--num-shards", 0),
        ("--seed", -1),
        ("--workers", 0),
    ],
)
def test_values_out_of_range(vocabulary, sources, tmp_path, capsys, flag, value):
    words = command(vocabulary, tmp_path / "data", flag, value, source=sources)
    with pytest.raises(SystemExit) as stopped:
        main(list(map(str, words)))
    assert stopped.value.code == 2
    name = flag.strip("-").replace("-", "_")
    assert f"argument {flag}: `{name}` must be" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()
