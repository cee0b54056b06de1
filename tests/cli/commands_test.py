"""Commands as a user calls them; bad input gives one line and status 1."""

import argparse
import dataclasses
import gzip
import io
import json
import logging
import os
import subprocess
import sys
import warnings

import pytest

from albert_keras import cli, sample
from albert_keras.cli import COMMANDS, analyze, main, parse
from albert_keras.cli.predict import as_line, given_texts
from albert_keras.cli.results import print_results
from albert_keras.runs import FinetuningRunConfig, PretrainingRunConfig
from albert_keras.text import read_documents
from albert_keras.text.tables import read_table

FINETUNE = ["finetune", "--task", "text-classification", "--checkpoint"]
FINETUNE += ["albert_nano_en", "--num-steps", 2, "--sequence-length", 31]
FINETUNE += ["--train", sample.REVIEWS_TRAIN, "--validation", sample.REVIEWS_TEST]


@pytest.fixture(scope="module")
def reviews(tmp_path_factory, run_apart):
    path = tmp_path_factory.mktemp("commands") / "reviews"
    run_apart(*FINETUNE, "--run", path)
    return path


@pytest.mark.parametrize(
    ("given", "used"), [("module://of_a_notebook", "agg"), ("svg", "svg")]
)
def test_a_notebooks_own_pictures_are_not_used(monkeypatch, given, used):
    monkeypatch.setenv("MPLBACKEND", given)
    with pytest.raises(SystemExit):
        main(["--version"])
    assert os.environ["MPLBACKEND"] == used


@pytest.mark.slow
def test_tensorflow_uses_onednn_unless_the_user_says_no(reviews, run_apart):
    output = run_apart("predict", reviews, "a text", ONEDNN_VERBOSE="1")
    # A line of oneDNN for each product of several matrices that it computes.
    assert ",exec,cpu,matmul," in output


def test_vocabulary_of_a_sample(tmp_path, call, run_apart):
    corpus = tmp_path / "corpus.txt.gz"
    corpus.write_bytes(gzip.compress(sample.CORPUS.read_bytes() + b"\n\xff\n"))
    options = ["--errors", "replace", "--vocabulary-size", 300, "--max-texts", 211]
    options += ["--character-coverage", 0.98]
    output = tmp_path / "30k.model"
    words = ["train-vocabulary", corpus, *options, "--output", output]
    results = json.loads(run_apart(*words, "--json"))
    assert results["vocabulary_size"] == 300
    assert results["texts_used"] == 211
    num_sentences = sum(map(len, read_documents(sample.CORPUS)))
    assert results["texts_seen"] == num_sentences + 1
    assert results["replaced_bytes"] == 1
    assert results["bytes"] == output.stat().st_size
    assert 0.001 < results["unknown_rate"] < 0.05
    words = ["train-vocabulary", corpus, *options, "--output", tmp_path / "other.model"]
    call(*words, "--seed", 5)
    assert (tmp_path / "other.model").read_bytes() != output.read_bytes()


@pytest.mark.slow
def test_a_run_is_converted_with_its_tokenizer_and_labels(reviews, tmp_path, run_apart):
    words = ["convert", reviews, "--to", "huggingface", "--output", tmp_path]
    assert json.loads(run_apart(*words, "--json"))["head"] == "sequence_classification"
    assert (tmp_path / "spiece.model").is_file()
    stated = json.loads((tmp_path / "config.json").read_text())
    assert stated["id2label"] == {"0": "negative", "1": "positive"}


@pytest.mark.slow
def test_finetune_on_two_devices_with_held_out_rows(tmp_path, run_apart):
    command = [*FINETUNE, "--run", tmp_path, "--strategy", "mirrored", "--json"]
    assert json.loads(run_apart(*command, num_devices=2))["num_examples"] == 100


@pytest.mark.slow
def test_predict_from_a_file_or_standard_input(
    reviews, tmp_path, capsys, monkeypatch, fail
):
    texts = tmp_path / "texts.txt"
    texts.write_text("one café\n\nanother text\n", "cp1252")
    model, encoding = ["predict", str(reviews)], ["--encoding", "cp1252"]

    def give(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    give(texts.read_bytes())
    assert main([*model, "-", *encoding]) == 0
    printed = capsys.readouterr().out
    lines = [line.split("\t")[2] for line in printed.splitlines()]
    assert lines == ["one café", "", "another text"]
    assert main([*model, *encoding, "--input", str(texts)]) == 0
    assert capsys.readouterr().out == printed
    line = fail(*model, "--input", tmp_path / "texts.csv")
    assert "one text per line" in line
    assert "texts.csv. Give a table by --data" in line
    give(texts.read_bytes())
    output = tmp_path / "predictions.csv"
    assert main([*model, *encoding, "--output", str(output)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-1] == f"3 predictions written to {output}"
    assert [row["text"] for _, row in read_table(output)] == lines
    line = fail(*model, "a text", "--output", tmp_path / "SST-2.tsv")
    assert "SST-2 must be one of 0, 1. Received" in line
    give(b"caf\xe9")
    assert "UTF-8. Received: '-', which is not at byte 3" in fail(*model)
    give(b"")
    assert "on standard input" in fail(*model)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    assert f"albert-keras {name}" in capsys.readouterr().out


@pytest.mark.parametrize("texts", [["-"], ["one text", "another"], [""], []])
def test_texts_stand_before_or_after_options(texts):
    for words in (["run", *texts, "--json"], ["run", "--json", *texts]):
        assert parse(["predict", *words]).texts == texts


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help_and_every_value_a_default(name):
    _, command = cli.make_parsers([name])
    for action in command._actions:
        assert action.help
        no_value = action.default in (None, False, argparse.SUPPRESS)
        is_switch = action.nargs == 0 and no_value
        if action.option_strings and not action.required and not is_switch:
            assert "default" in action.help, action.option_strings
        if action.default not in (None, False, [], argparse.SUPPRESS):
            default = "on" if action.default is True else action.default
            assert f"(default: {default}" in action.help, action.option_strings


@pytest.mark.parametrize("name", COMMANDS)
def test_every_number_has_a_range(name):
    _, command = cli.make_parsers([name])
    numbers = [action for action in command._actions if action.metavar in ("N", "X")]
    for action in numbers:
        for text in ("-1", "nan", "inf", "9" * 400, "x", "", "1e400"):
            with pytest.raises((ValueError, argparse.ArgumentTypeError)):
                action.type(text)
    assert numbers


@pytest.mark.parametrize(
    ("words", "config_class"),
    [
        (["pretrain", "--data", "a", "--tokenizer", "b"], PretrainingRunConfig),
        (["finetune", "--task", "rte", "--checkpoint", "a"], FinetuningRunConfig),
    ],
)
def test_every_field_of_a_configuration_has_a_flag(words, config_class):
    arguments = vars(parse([*words, "--run", "run"]))
    fields = config_class.__dataclass_fields__
    dicts = {name for name in fields if name.endswith("_options")}
    assert fields.keys() - dicts <= arguments.keys()
    # The flags' defaults are the fields' defaults.
    for name in fields.keys() - dicts:
        default = fields[name].default
        if default is not dataclasses.MISSING and f"--{name}" not in words:
            assert arguments[name] == default or arguments[name] == []


# Help and usage errors of all commands, in one process.
HELP = """
import contextlib, io, json, sys, time
from albert_keras.cli import main
heavy = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(words)
    heavy += [[*words, n] for n in ("keras", "tensorflow", "torch") if n in sys.modules]
print(json.dumps({"heavy": heavy, "seconds": time.process_time()}))
"""


def test_help_and_wrong_usage_need_no_tensorflow():
    wrong = [words for words, _ in WRONG_USAGE]
    absent = [words for words, _ in ABSENT]
    words = [["--help"], *([name, "--help"] for name in COMMANDS), *wrong, *absent]
    done = subprocess.run(
        [sys.executable, "-c", HELP],
        input=json.dumps(words),
        capture_output=True,
        text=True,
        check=True,
    )
    measured = json.loads(done.stdout)
    assert measured["heavy"] == []
    # All of them together take as long as one should take at most, 0.5 s, on a processor
    # that is not shared.
    assert measured["seconds"] < 2.0
    lines = done.stderr.splitlines()
    assert len(lines) == 2 * len(wrong) + len(absent)
    for line, (_, part) in zip(lines[2 * len(wrong) :], ABSENT, strict=True):
        assert part in line


_OF_TABLES = ["finetune", "--task", "text-classification", "--run", "no_run"]
_REVIEWS = ["--train", str(sample.REVIEWS_TRAIN), "--text-column"]
_PRETRAIN = ["pretrain", "--text", "a", "--run", "b", "--checkpoint"]
# Files, columns and names that are wrong.
ABSENT = [
    ([*_OF_TABLES, "--checkpoint", "albert_nano_en", *_REVIEWS, "texts"], "has text"),
    ([*_OF_TABLES, "--checkpoint", "albert_tiny_en", *_REVIEWS, "text"], "mini_en?"),
    ([*_OF_TABLES, "--checkpoint", "albert_nano_en", "--train", "no.csv"], "'no.csv'"),
    ([*_PRETRAIN, "albert_nan_en"], "nano"),
    ([*_PRETRAIN, "albert_nano_en"], "'a'"),
    (["predict", "no_run", "a text"], "'no_run', which does not exist"),
    (["distill", "--teacher", "no_run", "--run", "b"], "'no_run', which does not"),
]


WRONG_USAGE = [
    ([], "required: command"),
    (["finetun"], "invalid choice: 'finetun' (like finetune?)"),
    (["finetune", "--task", "sst2"], "invalid choice: 'sst2' (like sst-2?)"),
    (["--nonsense", "finetune"], "unknown arguments: --nonsense"),
    (["predict", "run", "--batch", "3"], "unknown arguments: --batch 3"),
    (["prepare-data", "a", "--tokeniser=b"], "required: --output, --tokenizer"),
    (["train-vocabulary", "a", "--seed", "b"], "invalid int value: 'b'"),
    (["finetune", "--batch-size", "0"], "`batch_size` must be an integer, 1 to 65536"),
    (["pretrain", "--text", "a", "--data", "b"], "not allowed with argument"),
    (["analyze", "parameters", "--hidden-dims", "3"], "(like --hidden-dim?)"),
    (["convert", "", "--output", "a"], "`checkpoint` must not be empty"),
]


@pytest.mark.parametrize(("words", "part"), WRONG_USAGE)
def test_wrong_usage_has_status_2_and_a_line(words, part, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    error, hint = capsys.readouterr().err.splitlines()
    command = " ".join(["albert-keras", *(n for n in words[:1] if n in COMMANDS)])
    assert error.startswith(f"{command}: error: ")
    assert part in error
    assert hint == f"Try: {command} --help"


NATIVE = """
import os, sys
from albert_keras.cli import analyze, main
def run(arguments):
    os.write(2, b"native\\n")
    print("ours", file=sys.stderr)
analyze.run = run
main()
os.write(2, b"end of the process\\n")
"""


@pytest.mark.parametrize("words", [(), ("--verbose",)])
def test_lines_of_native_code_are_hidden_unless_asked(words):
    command = [sys.executable, "-c", NATIVE, "analyze", "parameters", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    others = ["native", "end of the process"] if words else []
    assert sorted(done.stderr.splitlines()) == sorted(["ours", *others])


def test_only_own_warnings_and_no_logs_unless_asked(monkeypatch, capsys):
    def run(arguments):
        warnings.simplefilter("always")
        warnings.warn_explicit("of others", UserWarning, "other.py", 3)
        warnings.warn_explicit("our own", UserWarning, cli.__file__, 5)
        logging.getLogger("other").warning("logged")

    monkeypatch.setattr(analyze, "run", run)
    ours = "albert-keras: warning: our own\n"
    assert main(["analyze", "parameters"]) == 0
    assert capsys.readouterr().err == ours
    assert main(["analyze", "parameters", "--verbose"]) == 0
    others, *lines = capsys.readouterr().err.splitlines(keepends=True)
    assert others == "albert-keras: warning: of others\n"
    assert lines[0] == ours


def test_sizes_of_a_dry_run_are_readable(capsys):
    measured = {"batch": {"token_ids": [None, 31]}, "peak_memory": 2_000}
    results = {"phases": {"1": measured}, "batches": [[10, 16], [5, 31]]}
    print_results("dry run", results, as_json=False)
    out = capsys.readouterr().out
    assert all(text in out for text in ("None x 31", "10 x 16, 5 x 31", "2.0 kB"))


# === Bad input ===


def test_nothing_where_a_model_should_be(tmp_path, fail):
    assert "absent" in fail("predict", tmp_path / "absent", "a text")
    assert "run.json" in fail("predict", tmp_path, "a text")
    assert "known checkpoint" in fail("convert", tmp_path, "--output", tmp_path / "out")
    (tmp_path / "model.tflite").write_text("no model")
    assert "model.tflite" in fail("predict", tmp_path / "model.tflite", "a text")


# === `predict`: where its texts come from ===


def test_a_file_given_as_text_is_noted_and_a_long_text_is_no_file(tmp_path, capsys):
    file = tmp_path / "reviews.csv"
    file.write_text("text\n")
    for text, is_noted in ((str(file), True), ("storms and gulls " * 99, False)):
        arguments = argparse.Namespace(texts=[text], input=None)
        assert given_texts(arguments, None) == [text]
        assert ("is taken as a text" in capsys.readouterr().err) == is_noted


def test_entities_are_printed_with_their_places():
    entity = {"text": "Ann", "type": "PER", "start": 1, "end": 4, "score": 0.256}
    row = {"text": "(Ann)", "label": "(/O Ann/B-PER )/O", "entities": [entity, entity]}
    assert as_line(row) == "Ann PER[1:4] 0.26, Ann PER[1:4] 0.26\t(Ann)"
    assert as_line({"text": "so", "label": "so/O", "entities": []}) == "\tso"
    assert as_line({"text": "so\n\tit", "label": "so/ADV"}) == "so/ADV\tso it"
