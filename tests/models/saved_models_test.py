"""Saved models load in a new process; copies compute in another precision."""

import ast
import json
import pathlib
import subprocess
import sys

import keras
import keras_hub
import numpy as np
import pytest

from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.models.classes import is_multi_label
from albert_keras.models.copies import in_precision
from albert_keras.optimizers import Lamb, WarmupPolynomialDecay
from albert_keras.tokenizers import WordPieceTokenizer
from tests.helpers import make_inputs, max_difference
from tests.models.classifier_test import make_classifier

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


# === Copies of models in float32, with weights, labels, preprocessor and loss ===


def test_a_copy_computes_in_precision():
    model = make_classifier("mixed_bfloat16", num_classes=2, labels=["a", "b"])
    model.compile(loss=keras.losses.BinaryCrossentropy(from_logits=True))
    copy = in_precision(model)
    assert in_precision(copy) is copy
    assert type(copy) is type(model)
    assert copy.backbone.compute_dtype == "float32"
    assert copy.labels == ("a", "b")
    assert is_multi_label(copy)
    assert max_difference(copy.get_weights(), model.get_weights()) == 0.0
    assert max_difference(copy(make_inputs()), model(make_inputs())) < 0.02
    backbone = in_precision(model.backbone)
    assert max_difference(backbone.get_weights(), model.backbone.get_weights()) == 0.0
