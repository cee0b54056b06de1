"""`prepare-data`: options, reports, full disks."""

import contextlib
import io
import json

import pytest

from albert_keras import sample
from albert_keras.cli import main
from albert_keras.pretraining.token_store import read_description
from tests.cli.conftest import content, write_sample
from tests.forked_processes import forked_processes, run_command

LENGTH = 47
SMALL = ["--sequence-length", LENGTH, "--num-shards", 3]
SMALL += ["--format", "tfrecord", "--dupe-factor", 2]


def command(vocabulary, output, *words, source=sample.CORPUS):
    words = ["--tokenizer", vocabulary, "--workers", 1, *words]
    words += ["--validation-split", 0]
    words = ["prepare-data", source, *words]
    return [str(word) for word in [*words, "--output", output]]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A file of the sample's first 101 documents."""
    return write_sample(tmp_path_factory.mktemp("sources") / "corpus.txt", 101)


@pytest.fixture(scope="module")
def prepared(vocabulary, sources, tmp_path_factory):
    """Data of the options `SMALL`, made by two processes, and the results of that."""
    folder = tmp_path_factory.mktemp("prepared") / "data"
    words = command(vocabulary, folder, *SMALL, "--workers", 2, source=sources)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        assert main([*words, "--json"]) == 0
    return folder, json.loads(output.getvalue())


def test_options_reach_the_data(vocabulary, sources, tmp_path, call):
    pytest.importorskip("matplotlib")
    options = ["--sentence-pairs", "ternary", "--pair-gap", 1]
    options += ["--masking", "whole_word"]
    options += ["--favor-longer", "--packing", "filled", "--masked-rate", 0.4]
    options += ["--random-replacements", "vocabulary", "--seed", 9]
    for folder, more in (("records", ["--format", "tfrecord"]), ("tokens", [])):
        words = command(vocabulary, tmp_path / folder, *options, *more, source=sources)
        report = call(*words, "--plot", tmp_path / "report.png")
        assert (tmp_path / "report.png").read_bytes().startswith(b"\x89PNG")
        description = read_description(tmp_path / folder)
        assert {*report["label_counts"]} == {"next", "previous", "random"}
        assert description["config"] == description["config"] | {
            **{"sentence_pairs": "ternary", "pair_gap": 1, "masking": "whole_word"},
            **{"favor_shorter": False, "packing": "filled", "masked_rate": 0.4},
            **{"random_replacements": "vocabulary", "seed": 9},
        }


def test_passes_have_no_effect_with_a_store(vocabulary, tmp_path, fail):
    words = command(vocabulary, tmp_path / "data", "--dupe-factor", 3)
    assert "a token store. Received: dupe_factor=3." in fail(*words)
    assert "suffix of an image" in fail(*words, "--plot", "report.txt")
    assert not (tmp_path / "data").exists()


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
    for stage in ("tokenize", "shuffle", "examples", "write"):
        (line,) = [line for line in lines if line.startswith(stage)]
        assert "100%" in line
        # A rate.
        assert "/s" in line


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
    assert "Traceback" not in errors
    results = (output / "unfinished").glob("*-??????.json")
    assert {path.name.partition("-")[0] for path in results} == stages
    assert [path.name for path in output.iterdir()] == ["unfinished"]
    assert list(output.rglob(".*")) == []

    call(*words, "--workers", 1)
    assert content(output) == content(prepared[0])
