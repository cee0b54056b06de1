"""CONTRIBUTING's table says which files a new head, format or option touches."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

HEAD = '''
"""Classes of the mean of all positions."""

import keras
import keras_hub

from albert_keras.models.task import FineTuned


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertMeanClassifier(FineTuned, keras_hub.models.Task):
    """Chooses a class by the mean of all vectors."""

    reads_pooled_output = False
    arguments = ("dropout", "num_classes")

    def __init__(self, backbone, num_classes, preprocessor=None, dropout=0.1, **kwargs):
        self.num_classes = num_classes
        self.add_layers(backbone, preprocessor, num_classes, dropout)
        mean = keras.ops.mean(backbone(backbone.input)["sequence_output"], axis=1)
        outputs = self.output_dense(self.output_dropout(mean))
        super().__init__(inputs=backbone.input, outputs=outputs, **kwargs)
'''
FORMAT = '''
"""The names of a model's inputs, as an export format."""

import pathlib


def export_names(model, path, tokenizer=None, labels=None, sequence_length=None):
    """Writes the names."""
    pathlib.Path(path).write_text(" ".join(model.input))
    return path


def is_names(path):
    """Returns whether a file has this format."""
    return str(path).endswith(".names")


def load_names(path):
    """Returns the names."""
    return pathlib.Path(path).read_text().split()
'''
# For each row of the table: new files, and what is put before a text of a file.
ADDED = {
    "head": (
        {"models/mean_classifier.py": HEAD},
        {
            "models/__init__.py": {
                "from albert_keras.models.multiple_choice": (
                    "from albert_keras.models.mean_classifier import "
                    "AlbertMeanClassifier\n"
                ),
                '    "token_classification": HeadSpec(': (
                    '    "mean": HeadSpec(AlbertMeanClassifier, "num_classes", '
                    '"logits/bias"),\n'
                ),
            },
            "cli/choices.py": {'    *("pretraining", "seq': '    "mean",\n'},
        },
    ),
    "masking strategy": (
        {},
        {
            "pretraining/masking.py": {
                "MASKING = {": (
                    "def select_first(starts, maskable, budgets, draws, **options):\n"
                    "    selected = maskable & (np.cumsum(maskable, axis=1) == 1)\n"
                    "    return selected, np.array([selected.sum()])\n\n\n"
                ),
                '    "whole_word": ': '    "first": select_first,\n',
            }
        },
    ),
    "objective of sentence pairs": (
        {},
        {"pretraining/pairs.py": {'    "nsp": (': '    "other": ("next", "other"),\n'}},
    ),
    "export format": (
        {"export/names.py": FORMAT},
        {
            "export/formats.py": {
                "from albert_keras.export.onnx": (
                    "from albert_keras.export.names import export_names, is_names, "
                    "load_names\n"
                ),
                '    "tflite": ExportFormat(': (
                    '    "names": ExportFormat(export_names, load_names, is_names, '
                    '"a file of names"),\n'
                ),
            },
            "cli/choices.py": {'"saved_model", "serving", "tfl': '"names", '},
        },
    ),
    "option of optimizers": (
        {},
        {
            "runs/training.py": {
                "    weight_decay: float = option(": (
                    "    epsilon: float = option(\n"
                    '        "added to denominators", 1e-6, Range(above=0, maximum=1)\n'
                    "    )\n"
                )
            }
        },
    ),
}
USED = """
import dataclasses, pathlib, sys
import numpy as np
import albert_keras as ak
from albert_keras.cli import parse
from albert_keras.cli.choices import EXPORT_FORMATS, HEADS
from albert_keras.cli.options import config_from
from albert_keras.export.formats import EXPORTERS
from albert_keras.models import HEADS as KNOWN
from albert_keras.optimizers import make_optimizer
from albert_keras.pretraining import PretrainingDataConfig
from albert_keras.pretraining.documents import tokenize_documents
from albert_keras.pretraining.examples import cut_examples, make_examples
from albert_keras.runs import FinetuningRunConfig

folder = pathlib.Path(sys.argv[1])
config = dataclasses.replace(
    ak.AlbertConfig.from_preset("albert_nano_en"), vocabulary_size=60, hidden_dim=8,
    num_heads=2, intermediate_dim=12, embedding_dim=4,
)
backbone = ak.AlbertBackbone(**config.to_dict())
model = KNOWN["mean"].model(backbone, num_classes=3)
ak.save_checkpoint(model, folder / "saved", "keras")
assert type(ak.load_checkpoint(folder / "saved")).__name__ == "AlbertMeanClassifier"
EXPORTERS["names"].write(model, folder / "a.names")
assert ak.load_exported(folder / "a.names") == list(model.input)
assert "mean" in HEADS and "names" in EXPORT_FORMATS

words = ["finetune", "--task", "rte", "--data", "x", "--checkpoint", "y", "--run", "z"]
arguments = parse([*words, "--epsilon", "0.25"])
options = config_from(arguments, FinetuningRunConfig).optimizer_options()
assert make_optimizer(0.1, "lamb", **options).epsilon == 0.25

encoder = ak.load_tokenizer("albert_nano_en").encoder
text = [["one sentence of a story.", "another one follows it.", "and so it ends."]]
documents = tokenize_documents(text * 8, encoder)
config = PretrainingDataConfig(
    sequence_length=16, masking="first", sentence_pairs="other"
)
cut = cut_examples(documents, np.random.default_rng(0), config)
examples, _ = make_examples(
    cut, np.arange(cut.num_examples), np.random.default_rng(1), encoder, config
)
assert (examples["mask_weights"].sum(axis=1) == 1).all()
assert {*examples["sop_label"].tolist()} == {0, 1}
"""


@pytest.fixture(scope="module")
def rows():
    """The cells of the files of each row, by what is new."""
    lines = (ROOT / "CONTRIBUTING.md").read_text("utf-8").splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return {row[0]: " ".join(row[1:3]) for row in cells}


@pytest.mark.parametrize("new", ADDED)
def test_the_table_names_the_files_that_change(rows, new):
    created, changed = ADDED[new]
    named = re.findall(r"`([\w./<>]+\.py)`", rows[new])
    patterns = [re.sub("<.*?>", r"\\w+", re.escape(name)) for name in named]
    for path in (*created, *changed):
        assert any(re.fullmatch(pattern, path) for pattern in patterns), (path, named)


@pytest.mark.slow
def test_what_is_added_works(tmp_path):
    package = tmp_path / "albert_keras"
    shutil.copytree(ROOT / "albert_keras", package)
    for created, changed in ADDED.values():
        for path, text in created.items():
            (package / path).write_text(text.lstrip())
        for path, insertions in changed.items():
            content = (package / path).read_text("utf-8")
            for place, text in insertions.items():
                assert content.count(place) == 1, (path, place)
                content = content.replace(place, text + place)
            (package / path).write_text(content)
    done = subprocess.run(
        [sys.executable, "-c", USED, tmp_path],
        # First in the path of modules.
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
