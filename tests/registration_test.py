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
import albert_keras
import keras, keras_hub
model, preset, texts = json.loads(sys.argv[1])
print(json.dumps({
    "model": keras.saving.load_model(model).predict(texts, verbose=0).tolist(),
    "preset": keras_hub.models.TextClassifier.from_preset(preset).predict(
        texts, verbose=0
    ).tolist(),
}))
"""

LIST = """
import json
import {packages}
import keras
print(json.dumps(sorted(keras.saving.get_custom_objects())))
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


def printed_by(script, *arguments):
    """Returns the JSON in the last line that a new process prints."""
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_saved_models_load(classifier, saved):
    loaded = printed_by(LOAD, json.dumps(saved))
    expected = classifier.predict(TEXTS, verbose=0)
    for name in ("model", "preset"):
        np.testing.assert_allclose(loaded[name], expected, atol=1e-6)


# Loading needs the classes by name, and nothing else that depends on an order.
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
def test_classes_are_registered_in_any_order_of_imports(packages):
    registered = printed_by(LIST.format(packages=packages))
    assert set(registered_classes()) <= set(registered)


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
