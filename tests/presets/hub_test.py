"""Names and addresses of checkpoints, downloaded from a server with the hub's layout."""

import json
import pathlib
import re
import subprocess

import pytest

from albert_keras import sample
from albert_keras.converters import load_checkpoint
from albert_keras.presets.hub import ADDRESSES, SHIPPED_MODELS, known_names, local_files
from albert_keras.presets.transfer import is_address
from albert_keras.tokenizers import train_sentence_piece
from tests.hub_server import TOKEN, Hub
from tests.presets.transfer_test import run

pytest.importorskip("huggingface_hub")
__all__ = ["run"]


@pytest.fixture(scope="module")
def files(fixtures, vocabulary_of_fixture):
    """Files of a Hugging Face classifier, and other things that repositories hold."""
    folder = fixtures / "hf_groups_gelu/sequence_classification"
    found = {
        name: (folder / name).read_bytes()
        for name in ("config.json", "model.safetensors")
    }
    others = {"README.md": b"# A model", "pytorch_model.bin": b"not wanted" * 300}
    return {**found, "spiece.model": vocabulary_of_fixture, **others}


@pytest.fixture(scope="module")
def vocabulary_of_fixture(fixtures):
    """A SentencePiece model as large as the fixture's token table."""
    folder = fixtures / "hf_groups_gelu/sequence_classification"
    size = json.loads((folder / "config.json").read_text())["vocab_size"]
    lines = sample.CORPUS.read_text("utf-8").splitlines()
    # Rare characters would need more pieces.
    plain = [re.sub("[^a-z ]", "", line.lower()) for line in lines]
    return train_sentence_piece(filter(None, plain), size)


@pytest.fixture
def hub(files):
    return Hub({"user/film": dict(files)})


@pytest.mark.slow
def test_a_classifier_of_an_address_predicts_on_text_and_is_uploaded(run, hub):
    code = """
import albert_keras as ak
model = ak.AlbertTextClassifier.from_preset("hf://user/film")
tokenizer = ak.load_tokenizer("hf://user/film")
loaded = ak.load_checkpoint("hf://user/film", head="sequence_classification")
texts = ["the quick fox", "a dog"]
assert (model.predict(texts, verbose=0) == loaded.predict(texts, verbose=0)).all()
assert type(loaded.preprocessor) is ak.AlbertTextClassifierPreprocessor
assert list(loaded.preprocessor.tokenizer("a dog")) == list(tokenizer("a dog"))
backbone = ak.AlbertBackbone.from_preset("hf://user/film", dtype="bfloat16")
print(model.num_classes, backbone.dtype, model.count_params() - backbone.count_params())
labels = [f"class {i}" for i in range(model.num_classes)]
backbone, preprocessor = model.backbone, model.preprocessor
named = ak.AlbertTextClassifier(backbone, len(labels), preprocessor, labels=labels)
named.save_to_preset("hf://me/ours")
ak.save_checkpoint(named, "hf://me/theirs", "huggingface")
preprocessor.save_to_preset("hf://me/words")
assert list(ak.load_tokenizer("hf://me/words")("a dog")) == list(tokenizer("a dog"))
for address in ("hf://me/ours", "hf://me/theirs"):
    again = ak.AlbertTextClassifier.from_preset(address)
    assert again.labels == tuple(labels)
    assert list(again.preprocessor.tokenizer("a dog")) == list(tokenizer("a dog"))
    pairs = zip(again.get_weights(), named.get_weights(), strict=True)
    assert all((one == other).all() for one, other in pairs)
"""
    process = run(code, HF_TOKEN=TOKEN)
    assert process.returncode == 0, process.stderr
    num_classes, dtype, size_of_head = process.stdout.split()[-3:]
    assert dtype == "bfloat16"
    assert int(size_of_head) == int(num_classes) * (24 + 1)
    sent = {
        pathlib.PurePath(path).name
        for path in hub.requests
        if path.startswith("/user/film/resolve")
    }
    assert sent == {"config.json", "model.safetensors", "spiece.model"}


def test_names_and_paths(tmp_path, monkeypatch):
    assert ADDRESSES["albert_xxlarge_v2"] == "hf://albert/albert-xxlarge-v2"
    assert not any(name in SHIPPED_MODELS for name in ADDRESSES)
    assert is_address("kaggle://keras/albert/keras/x")
    assert not is_address(tmp_path)
    # A path goes before a name.
    monkeypatch.chdir(tmp_path)
    for name in ("albert_base_v2", *SHIPPED_MODELS):
        path = pathlib.Path(name)
        path.mkdir()
        assert local_files(name) == local_files(path) == path


def test_messages_abbreviate_the_names_as_a_shell_reads_them():
    words = known_names().replace(", ", " ")
    expanded = subprocess.check_output(["bash", "-c", f"echo {words}"], text=True)
    assert set(expanded.split()) == {*SHIPPED_MODELS, *ADDRESSES}
    with pytest.raises(FileNotFoundError, match=re.escape(known_names())) as raised:
        load_checkpoint("albert_base")
    assert len(str(raised.value)) < 500


def test_the_model_of_a_run(tmp_path):
    assert local_files(tmp_path) == tmp_path
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match="must have finished"):
        local_files(tmp_path)
    (tmp_path / "model").mkdir()
    assert local_files(tmp_path) == tmp_path / "model"


def test_keras_hub_knows_the_names_and_their_addresses():
    keras_hub = pytest.importorskip("keras_hub")
    presets = keras_hub.models.AlbertBackbone.presets
    of_keras_hub = {name for name in ADDRESSES if name.endswith("_uncased")}
    assert of_keras_hub == presets.keys()
    for name in of_keras_hub:
        assert presets[name]["kaggle_handle"].rpartition("/")[0] == ADDRESSES[name]
