"""Names and addresses of checkpoints, downloaded from a server with the hub's layout."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from albert_keras import sample
from albert_keras.hub import ADDRESSES, check_preset, is_address, local_files
from albert_keras.models import AlbertTextClassifier
from albert_keras.shipped import SHIPPED_MODELS
from albert_keras.tokenizers import train_sentence_piece
from tests import kaggle_server
from tests.helpers import max_difference
from tests.hub_server import Hub, serving

huggingface_hub = pytest.importorskip("huggingface_hub")


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


@pytest.fixture
def run(hub, tmp_path):
    """Runs code in a process that knows only the server and an empty cache."""
    with serving(hub) as address:

        def run(code, **environment):
            return subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(sys.path),
                    "HF_ENDPOINT": address,
                    "HF_HOME": str(tmp_path / "cache"),
                    "HF_HUB_DISABLE_XET": "1",
                    "HF_HUB_DOWNLOAD_TIMEOUT": "5",
                    **environment,
                },
            )

        yield run


def local(address):
    return f"from albert_keras.hub import local_files; print(local_files({address!r}))"


def last_line(process):
    assert process.returncode == 1
    return process.stderr.strip().splitlines()[-1]


@pytest.mark.slow
def test_a_classifier_of_an_address_predicts_on_text(run, hub):
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
"""
    process = run(code)
    assert process.returncode == 0, process.stderr
    num_classes, dtype, size_of_head = process.stdout.split()[-3:]
    assert dtype == "bfloat16"
    assert int(size_of_head) == int(num_classes) * (24 + 1)
    sent = {pathlib.PurePath(path).name for path in hub.requests if "resolve" in path}
    assert sent == {"config.json", "model.safetensors", "spiece.model"}


@pytest.mark.slow
def test_what_was_downloaded_is_found_without_network(run, hub):
    first = run(local("hf://user/film@main"))
    assert first.returncode == 0, first.stderr
    # Standard output is for results, such as those of `--json`.
    assert "Fetching" in first.stderr
    num_requests = len(hub.requests)
    # The package that downloads may have been imported before.
    code = "import huggingface_hub, os; os.environ['HF_HUB_OFFLINE'] = '1'"
    again = run(f"{code}; {local('hf://user/film@main')}")
    assert again.stdout == first.stdout
    assert len(hub.requests) == num_requests
    assert "config.json" in os.listdir(first.stdout.strip())


@pytest.mark.parametrize(
    ("address", "environment"),
    [
        ("hf://user/absent", {}),
        ("hf://user/film", {"HF_HUB_OFFLINE": "1"}),
        ("hf://user/film", {"HF_ENDPOINT": "http://127.0.0.1:9"}),
    ],
    ids=["absent", "offline", "no-server"],
)
def test_what_cannot_be_downloaded_is_one_error(run, address, environment):
    line = last_line(run(local(address), **environment))
    assert line.startswith("ConnectionError: The address must be of files that can be")
    assert address in line


@pytest.mark.slow
def test_a_dropped_connection_leaves_nothing_half(run, hub):
    hub.damage["model.safetensors"] = lambda content: content[:1000]
    assert "hf://user/film" in last_line(run(local("hf://user/film")))
    hub.damage.clear()
    process = run(local("hf://user/film"))
    assert process.returncode == 0, process.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_file_of_another_hash_is_refused_and_removed(run, hub, name):
    hub.damage[name] = lambda content: content[:-1] + b"?"
    line = last_line(run(local("hf://user/film")))
    assert line.startswith("ValueError: A downloaded file must have the hash")
    assert repr(name) in line
    hub.damage.clear()
    process = run(local("hf://user/film"))
    assert process.returncode == 0, process.stderr


@pytest.mark.slow
def test_a_model_of_kaggle_and_its_cache(run, files, tmp_path):
    pytest.importorskip("kagglehub", minversion="1.0")
    address = "kaggle://user/film/keras/base"
    with kaggle_server.serving({("user", "film"): files}) as (server, environment):
        environment |= {"KAGGLEHUB_CACHE": str(tmp_path / "kaggle")}
        first = run(local(address), **environment)
        # Nothing but the result, as for `--json`.
        assert pathlib.Path(first.stdout.removesuffix("\n"), "config.json").is_file()
        assert "100%" in first.stderr
        num_calls = len(server.calls)
        for name in (address, f"{address}/{kaggle_server.VERSION}"):
            again = run(local(name), **environment, HF_HUB_OFFLINE="1")
            assert again.stdout == first.stdout
        line = last_line(run(local(address + "2"), **environment, HF_HUB_OFFLINE="1"))
        assert "with HF_HUB_OFFLINE=1. FileNotFoundError: no version of it" in line
        assert len(server.calls) == num_calls
        line = last_line(run(local("kaggle://user/absent/keras/x"), **environment))
        assert line.startswith("ConnectionError: The address must be of files that can")
        assert "Resource not found" in line


def test_from_preset_of_files_of_another_library(fixtures):
    folder = fixtures / "hf_groups_gelu" / "sequence_classification"
    model = AlbertTextClassifier.from_preset(folder)
    fresh = AlbertTextClassifier.from_preset(folder, load_weights=False)
    assert fresh.backbone.albert_config == model.backbone.albert_config
    assert max_difference(fresh.get_weights(), model.get_weights()) > 0.01
    with pytest.raises(
        ValueError, match="takes `num_classes` and `dtype`. .*: dropout"
    ):
        AlbertTextClassifier.from_preset(folder, dropout=0.5)


def test_names_and_paths(tmp_path, monkeypatch):
    assert ADDRESSES["albert_xxlarge_v2"] == "hf://albert/albert-xxlarge-v2"
    assert not any(name in SHIPPED_MODELS for name in ADDRESSES)
    assert is_address("kaggle://keras/albert/keras/x")
    assert not is_address(tmp_path)
    # A path goes before a name.
    monkeypatch.chdir(tmp_path)
    pathlib.Path("albert_base_v2").mkdir()
    assert local_files("albert_base_v2") == "albert_base_v2"
    assert check_preset("albert_base_v2") == "albert_base_v2"


def test_keras_hub_knows_the_names_and_their_addresses():
    keras_hub = pytest.importorskip("keras_hub")
    presets = keras_hub.models.AlbertBackbone.presets
    of_keras_hub = {name for name in ADDRESSES if name.endswith("_uncased")}
    assert of_keras_hub == presets.keys()
    for name in of_keras_hub:
        assert presets[name]["kaggle_handle"].rpartition("/")[0] == ADDRESSES[name]


@pytest.mark.parametrize("address", ["hf://film", "hf://a/b/c", "hf://user/fi lm"])
def test_malformed_addresses(address):
    with pytest.raises(ValueError, match="must be hf://USER/MODEL or .*@REVISION"):
        local_files(address)


def test_a_missing_package_is_named_with_the_remedy(tmp_path):
    code = (
        "import sys; sys.modules['kagglehub'] = None;"
        "from albert_keras.hub import local_files; local_files('kaggle://a/b/c/d')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install "albert_keras[hub]"' in done.stderr
