"""`convert` with its options."""

import os
import shutil

import pytest


def test_offline_is_one_error_and_only_for_the_command(tmp_path, fail, monkeypatch):
    pytest.importorskip("huggingface_hub")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    address = "hf://albert-keras-tests/absent"
    line = fail("convert", address, "--output", tmp_path / "out", "--offline")
    assert f"Received: '{address}' with HF_HUB_OFFLINE=1." in line
    assert "HF_HUB_OFFLINE" not in os.environ


def test_vocabulary_goes_along(tmp_path, call):
    theirs = tmp_path / "theirs"
    results = call(
        "convert", "albert_nano_en", "--to", "huggingface", "--output", theirs
    )
    assert results["tokenizer"] == "AlbertTokenizer"
    assert (theirs / "spiece.model").is_file()
    ours = call("convert", theirs, "--output", tmp_path / "ours")
    assert ours["tokenizer"] == "AlbertTokenizer"
    vocabulary = tmp_path / "ours" / "assets" / "tokenizer" / "vocabulary.spm"
    assert vocabulary.read_bytes() == (theirs / "spiece.model").read_bytes()


def test_vocabulary_of_another_size_is_refused(shared, fixtures, tmp_path, fail, call):
    folder = tmp_path / "theirs"
    original = fixtures / "google_tf1_shared"
    shutil.copytree(original, folder, copy_function=shutil.copyfile)
    shutil.copy(shared / "data" / "tokenizers" / "30k-clean.model", folder)
    line = fail("convert", folder, "--output", tmp_path / "out")
    assert "of 30000 tokens, a model of 61" in line
    assert not (tmp_path / "out").exists()
    # What the message says.
    resized = ("--vocabulary-size", "30000", "--head", "none")
    results = call("convert", folder, "--output", tmp_path / "out", *resized)
    assert results["config"]["vocabulary_size"] == 30000
    assert results["tokenizer"] == "AlbertTokenizer"


def test_another_architecture(fixtures, tmp_path, call):
    source = fixtures / "google_tf1_shared"
    results = call(
        *("convert", source, "--output", tmp_path / "out", "--sharing", "none"),
        *("--num-layers", 7, "--vocabulary-size", 71, "--max-sequence-length", 97),
    )
    config = results["config"]
    assert config["max_sequence_length"] == 97
    assert (config["sharing"], config["num_layers"]) == ("none", 7)
    assert config["vocabulary_size"] == 71


@pytest.mark.filterwarnings("default:.*head of 13 classes")
def test_a_new_head_is_made_on_request(fixtures, tmp_path, call):
    source = fixtures / "google_tf1_shared"
    words = ["convert", source, "--output", tmp_path / "out", "--head"]
    results = call(*words, "token_classification", "--num-classes", 13)
    assert results["head"] == "token_classification"
    assert call(*words, "none")["head"] == "none"


def test_a_config_that_is_none_gives_one_line(fixtures, tmp_path, fail):
    words = ["convert", fixtures / "google_tf1_shared", "--output", tmp_path / "out"]
    line = fail(*words, "--config", "albert_huge")
    assert "the name of a published size" in line
    assert not (tmp_path / "out").exists()
