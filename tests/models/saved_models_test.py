"""Saved models load in a new process after `import albert_keras.models`."""

import ast
import json
import pathlib
import subprocess
import sys

import keras_hub
import numpy as np
import pytest

from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.optimizers import Lamb, WarmupPolynomialDecay
from albert_keras.tokenizers import WordPieceTokenizer

ROOT = pathlib.Path(__file__).parents[2]
TEXTS = ["a b", "c a c"]

LOAD = """
import json, sys
import albert_keras.models
import keras, keras_hub
model_path, preset, texts = json.loads(sys.argv[1])
model = keras.saving.load_model(model_path)
from_preset = keras_hub.models.TextClassifier.from_preset(preset)
print(json.dumps({
    "registered": sorted(keras.saving.get_custom_objects()),
    "optimizer": keras.saving.get_registered_name(type(model.optimizer)),
    "model": model.predict(texts, verbose=0).tolist(),
    "preset": from_preset.predict(texts, verbose=0).tolist(),
}))
"""


@pytest.fixture(scope="module")
def classifier():
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"]
    preprocessor = keras_hub.models.TextClassifierPreprocessor(
        WordPieceTokenizer(vocabulary), sequence_length=7
    )
    backbone = AlbertBackbone.from_config_preset("albert_test")
    model = AlbertTextClassifier(backbone, 3, preprocessor)
    model.compile(Lamb(WarmupPolynomialDecay(0.01, decay_steps=9, warmup_steps=2)))
    return model


@pytest.fixture(scope="module")
def loaded(classifier, tmp_path_factory):
    """What a new process reads from a model file and from a preset."""
    folder = tmp_path_factory.mktemp("saved")
    classifier.save(folder / "model.keras")
    classifier.save_to_preset(str(folder / "preset"))
    saved = [str(folder / "model.keras"), str(folder / "preset"), TEXTS]
    command = [sys.executable, "-c", LOAD, json.dumps(saved)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def registered_classes():
    """Returns the names of all classes of the package with Keras' decorator."""
    for path in (ROOT / "albert_keras").rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            decorators = map(ast.unparse, getattr(node, "decorator_list", []))
            if any("register_keras_serializable" in text for text in decorators):
                yield f"albert_keras>{node.name}"


@pytest.mark.slow
@pytest.mark.parametrize("source", ["model", "preset"])
def test_loaded_model_predicts_as_the_saved_one(source, classifier, loaded):
    expected = classifier.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(loaded[source], expected, atol=1e-6)
    assert loaded["optimizer"] == "albert_keras>Lamb"


@pytest.mark.slow
def test_all_classes_of_the_package_are_registered(loaded):
    classes = set(registered_classes())
    assert "albert_keras>FactorizedEmbedding" in classes
    assert classes <= set(loaded["registered"])
