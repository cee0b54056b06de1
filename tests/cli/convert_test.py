"""`convert` on all layouts, and the errors of bad options."""

import json
import os
import re
import shutil

import numpy as np
import pytest

from albert_keras.converters import load_checkpoint
from albert_keras.converters.tensorflow_file import write_tensorflow
from albert_keras.tokenizers import load_tokenizer
from tests.helpers import max_difference

GOOGLE_SIZES = {"vocab_size": 21128, "embedding_size": 128, "hidden_act": "gelu"}
# By layout: whether it is a SavedModel, and how its config is told.
LAYOUTS = {
    "albert_small_zh_google": (
        False,
        {
            **GOOGLE_SIZES,
            "hidden_size": 384,
            "intermediate_size": 1536,
            "num_attention_heads": 12,
            "num_hidden_layers": 6,
        },
        "pretraining",
    ),
    "albert_tiny_zh_brightmart": (
        False,
        {
            **GOOGLE_SIZES,
            "hidden_size": 312,
            "intermediate_size": 1248,
            "num_attention_heads": 12,
            "num_hidden_layers": 4,
            "ln_type": "postln",
        },
        "pretraining",
    ),
    "chinanews_albert_savedmodel": (True, "albert_base_zh", "sequence_classification"),
    "tfhub_albert_base_tf2": (True, "albert_base_v2", "pretraining"),
}


def write_layout(shared, name, folder):
    """Writes random weights under the names and shapes of a published file."""
    layout = shared / "data" / "checkpoint_layouts" / f"{name}.json"
    random = np.random.default_rng(13)
    tensors = {
        name: random.normal(0.0, 0.02, shape).astype(dtype)
        for name, (shape, dtype) in json.loads(layout.read_text("utf-8")).items()
    }
    is_saved_model, config, _ = LAYOUTS[name]
    if is_saved_model:
        (folder / "variables").mkdir(parents=True)
        (folder / "saved_model.pb").write_bytes(b"")
        write_tensorflow(folder / "variables" / "variables", tensors)
        return ["--config", config]
    folder.mkdir()
    write_tensorflow(folder / "model.ckpt", tensors)
    (folder / "albert_config.json").write_text(json.dumps(config))
    return []


@pytest.mark.parametrize("name", list(LAYOUTS))
@pytest.mark.filterwarnings("ignore:.*no sentence-pair head")
def test_every_published_layout(shared, name, tmp_path, call):
    arguments = write_layout(shared, name, tmp_path / "theirs")
    results = call(
        *("convert", tmp_path / "theirs", *arguments),
        *("--output", tmp_path / "ours", "--report", tmp_path / "report.json"),
    )
    head = LAYOUTS[name][2]
    assert results["head"] == head
    rows = json.loads((tmp_path / "report.json").read_text())
    assert {row["status"] for row in rows} <= {"loaded", "unused"}
    model = load_checkpoint(tmp_path / "ours", head=head)
    assert model.count_params() == results["parameters"]
    loaded = [row for row in rows if row["status"] == "loaded"]
    assert len(loaded) == len(model.weights)


@pytest.mark.filterwarnings("ignore:Google's files cannot store the dropout")
@pytest.mark.parametrize("to", ["huggingface", "google", "keras_hub", "keras"])
def test_there_and_back(to, fixtures, tmp_path, call):
    pytest.importorskip("transformers")
    original = fixtures / "hf_shared" / "sequence_classification"
    there = call(
        *("convert", original, "--to", to, "--output", tmp_path / "there", "--verify")
    )
    assert there["source"] == "huggingface"
    assert there["source_differences"].pop("by") == "transformers"
    assert max(there["source_differences"].values()) < 1e-5
    library = {"huggingface": "transformers", "keras_hub": "keras_hub"}
    assert there["output_differences"].pop("by") == library.get(to, "albert_keras")
    assert max(there["output_differences"].values()) < 1e-5
    back = tmp_path / "back"
    call("convert", tmp_path / "there", "--to", "huggingface", "--output", back)
    head = "sequence_classification"
    first, last = (load_checkpoint(folder, head=head) for folder in (original, back))
    assert max_difference(last.get_weights(), first.get_weights()) == 0.0


def test_head_that_is_new_is_verified_below_it(fixtures, tmp_path, call):
    pytest.importorskip("transformers")
    original = fixtures / "hf_shared" / "pretraining"
    results = call(
        *("convert", original, "--head", "none", "--to", "huggingface"),
        *("--output", tmp_path / "out", "--verify"),
    )
    for side in ("source_differences", "output_differences"):
        differences = results[side]
        assert differences.pop("by") == "transformers"
        assert differences.keys() == {"sequence_output", "pooled_output"}
        assert max(differences.values()) < 1e-5


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
    assert "of 30000 pieces, a model of 61" in line
    assert not (tmp_path / "out").exists()
    # What the message says.
    resized = ("--vocabulary-size", "30000", "--head", "none")
    results = call("convert", folder, "--output", tmp_path / "out", *resized)
    assert results["config"]["vocabulary_size"] == 30000
    assert results["tokenizer"] == "AlbertTokenizer"
    assert load_tokenizer(tmp_path / "out").vocabulary_size() == 30000


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


@pytest.mark.filterwarnings("ignore:keras-hub's masked-word head")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from", "huggingface"], "source='huggingface'"),
        (["--config", "albert_huge"], "published size .*Received: 'albert_huge'"),
        (["--config", "albert_base_v2"], "must be in the files beside it"),
        (["--to", "google", "--sharing", "none"], "sharing='all'"),
        (["--num-groups", "2", "--to", "keras_hub"], "divisible by `num_groups`"),
    ],
)
def test_impossible_conversions_give_one_line(words, message, fixtures, tmp_path, fail):
    source = fixtures / "google_tf1_shared"
    line = fail("convert", source, "--output", tmp_path / "out", *words)
    assert re.search(message, line)
    assert not (tmp_path / "out").exists()


def test_other_folders_are_never_replaced(fixtures, tmp_path, fail):
    (tmp_path / "thesis.txt").write_text("precious")
    source = fixtures / "google_tf1_shared"
    assert str(tmp_path) in fail("convert", source, "--output", tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "precious"
