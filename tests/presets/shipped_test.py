"""Shipped models: complete, loaded by name, offline, and trained."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import zipfile

import pytest

from albert_keras.analysis import count_parameters
from albert_keras.config import PRESETS, AlbertConfig
from albert_keras.converters import load_checkpoint
from albert_keras.models import AlbertBackbone, AlbertPretrainer, AlbertTextClassifier
from albert_keras.presets.hub import FOLDER, SHIPPED_MODELS, known_names
from albert_keras.tokenizers import AlbertTokenizer
from tests.helpers import max_difference

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "albert_nano_en"
shipped = pytest.mark.parametrize("name", SHIPPED_MODELS)
KNOWN = re.escape(f"({known_names()})")
needs_model = pytest.mark.skipif(
    NAME not in SHIPPED_MODELS, reason="the model is not pretrained yet"
)


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    def refuse(*arguments):
        raise OSError("A shipped model must not use the network.")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module")
def tokenizer():
    return AlbertTokenizer.from_preset(NAME)


@pytest.fixture(scope="module")
def pretrainer():
    return AlbertPretrainer.from_preset(NAME)


@shipped
def test_preset_config_and_parameter_count_agree(name):
    backbone = AlbertBackbone.from_preset(name)
    assert backbone.albert_config == PRESETS[name]
    expected = SHIPPED_MODELS[name]["params"]
    assert count_parameters(PRESETS[name]) == backbone.count_params() == expected
    assert AlbertBackbone.presets[name]["metadata"]["params"] == expected
    assert name in AlbertTextClassifier.presets


@needs_model
def test_every_class_loads_the_same_backbone(pretrainer, tokenizer):
    weights = pretrainer.backbone.get_weights()
    assert tokenizer.vocabulary_size() == pretrainer.backbone.vocabulary_size
    classifier = AlbertTextClassifier.from_preset(NAME, num_classes=3)
    for backbone in (
        AlbertBackbone.from_preset(NAME),
        load_checkpoint(NAME, head=None),
        classifier.backbone,
    ):
        assert max_difference(backbone.get_weights(), weights) == 0.0
    again = load_checkpoint(NAME)
    assert max_difference(again.get_weights(), pretrainer.get_weights()) == 0.0
    logits = classifier.predict(["a charming journey", "bleak"], verbose=0)
    assert logits.shape == (2, 3)
    assert classifier.preprocessor.tokenizer.fingerprint() == tokenizer.fingerprint()
    assert classifier.preprocessor.sequence_length == 128


@needs_model
def test_weights_can_be_left_out(pretrainer):
    fresh = AlbertBackbone.from_preset(NAME, load_weights=False)
    assert max_difference(fresh.get_weights(), pretrainer.backbone.get_weights()) > 0.0


def checksums_of_card(name):
    card = (FOLDER / name / "README.md").read_text("utf-8")
    pairs = re.findall("^([0-9a-f]{64})  (.+)$", card, re.MULTILINE)
    return {path: digest for digest, path in pairs}


@shipped
def test_files_have_the_checksums_in_the_card_and_are_small(name):
    folder = FOLDER / name
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert sum(map(len, files.values())) < 20e6
    del files["README.md"]
    digests = {
        path: hashlib.sha256(content).hexdigest() for path, content in files.items()
    }
    assert digests == checksums_of_card(name)


@shipped
def test_card_has_the_measured_figures(name):
    results = json.loads((FOLDER / name / "results.json").read_text("utf-8"))
    template = (ROOT / "tools" / "model_cards" / "english.md").read_text("utf-8")
    lines = [f"{digest}  {path}" for path, digest in checksums_of_card(name).items()]
    size = (FOLDER / name / "model.weights.h5").stat().st_size
    card = template.format(**results, size=size, checksums="\n".join(lines))
    assert (FOLDER / name / "README.md").read_text("utf-8") == card
    assert AlbertConfig.from_dict(results["config"]) == PRESETS[name]
    for text in ("evaluation", "other_text"):
        assert results[text]["mlm_loss"] < results[text]["unigram_loss"]


def test_unknown_name_is_refused_with_a_list_of_known_names():
    message = f"a name {KNOWN}.*'albert_nano_xx' .like albert_nano_en.., which does not"
    classes = (AlbertBackbone, AlbertTextClassifier, AlbertTokenizer)
    for load in (load_checkpoint, *(each.from_preset for each in classes)):
        with pytest.raises(FileNotFoundError, match=message):
            load("albert_nano_xx")


LOAD = f"""
import albert_keras
backbone = albert_keras.AlbertBackbone.from_preset({NAME!r})
print(albert_keras.__file__, backbone.count_params())
"""


@needs_model
@pytest.mark.slow
def test_wheel_contains_the_shipped_models_and_no_other_export(tmp_path):
    checkout = tmp_path / "checkout"
    for name in ("albert_keras", *(f"saved_models/{name}" for name in SHIPPED_MODELS)):
        shutil.copytree(ROOT / name, checkout / name, symlinks=True)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    mine = checkout / "saved_models" / "mine" / "1" / "saved_model.pb"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(b"private")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", tmp_path, checkout]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    installed = tmp_path / "installed" / "albert_keras"
    models = installed / "saved_models"
    assert {path.name for path in models.iterdir()} == {*SHIPPED_MODELS}
    for name in SHIPPED_MODELS:
        carried, own = (
            {path.relative_to(folder / name) for path in (folder / name).rglob("*")}
            for folder in (models, FOLDER)
        )
        assert carried == own

    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    done = subprocess.run(
        [sys.executable, "-c", LOAD],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    expected = [str(installed / "__init__.py"), str(SHIPPED_MODELS[NAME]["params"])]
    assert done.stdout.split() == expected
