"""Saved models load in a process that has imported the package and nothing of it."""

import ast
import json
import pathlib
import subprocess
import sys

import keras_hub
import numpy as np
import pytest

from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.tokenizers import WordPieceTokenizer

ROOT = pathlib.Path(__file__).parents[1]
TEXTS = ["a b", "c a c"]

LOAD = """
import json, sys
import {packages}
import keras, keras_hub
model, preset, texts = json.loads(sys.argv[1])
print(json.dumps({{
    "model": keras.saving.load_model(model).predict(texts, verbose=0).tolist(),
    "preset": keras_hub.models.TextClassifier.from_preset(preset).predict(
        texts, verbose=0
    ).tolist(),
    "registered": sorted(keras.saving.get_custom_objects()),
}}))
"""


@pytest.fixture(scope="module")
def classifier():
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]
    preprocessor = keras_hub.models.TextClassifierPreprocessor(
        WordPieceTokenizer(vocabulary), sequence_length=7
    )
    return AlbertTextClassifier(
        AlbertBackbone.from_config_preset("albert_test"), 3, preprocessor
    )


@pytest.fixture(scope="module")
def saved(classifier, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    classifier.save(folder / "model.keras")
    classifier.save_to_preset(str(folder / "preset"))
    return [str(folder / "model.keras"), str(folder / "preset"), TEXTS]


def registered_classes():
    """Returns the names of the classes of the package that say they are registered."""
    for path in (ROOT / "albert_keras").rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            decorators = map(ast.unparse, getattr(node, "decorator_list", []))
            if any("register_keras_serializable" in text for text in decorators):
                yield f"albert_keras>{node.name}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "packages",
    [
        "albert_keras, keras",
        "keras, albert_keras",
        "albert_keras, keras_hub",
        "albert_keras, tensorflow",
        "albert_keras.optimizers",
        "albert_keras.layers.embeddings",
    ],
)
def test_saved_models_load(classifier, saved, packages):
    command = [sys.executable, "-c", LOAD.format(packages=packages), json.dumps(saved)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    expected = classifier.predict(TEXTS, verbose=0)
    for name in ("model", "preset"):
        np.testing.assert_allclose(report[name], expected, atol=1e-6)
    assert set(registered_classes()) <= set(report["registered"])


WITHOUT_KERAS_HUB = """
import sys
sys.modules["keras_hub"] = None
import albert_keras
assert not {"keras", "numpy"} & set(sys.modules)
import keras
names = keras.saving.get_custom_objects()
assert not any(name.startswith("albert_keras") for name in names)
assert albert_keras.AlbertConfig is not None
"""


def test_keras_can_be_imported_without_what_our_modules_need():
    command = [sys.executable, "-W", "error", "-c", WITHOUT_KERAS_HUB]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
