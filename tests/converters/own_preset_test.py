"""Presets of this package whose files are hostile, or do not fit each other."""

import json
import shutil

import h5py
import numpy as np
import pytest

from albert_keras.converters import find_checkpoint, load_checkpoint, save_checkpoint
from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from tests.helpers import make_config, max_difference

CLASSIFIER = "sequence_classification"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    backbone = AlbertBackbone(**make_config(num_layers=2).to_dict())
    folder = tmp_path_factory.mktemp("preset") / "whole"
    AlbertTextClassifier(backbone, 5, labels=[*"abcde"]).save_to_preset(str(folder))
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "copy")


def change_json(file, change):
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def error_of(folder, head):
    with pytest.raises(ValueError, match="Received") as caught:
        load_checkpoint(folder, head=head)
    message = str(caught.value)
    assert len(message) < 500 + len(str(folder))
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    "sizes",
    [
        {"vocabulary_size": 40_000_000},
        {"max_sequence_length": 10**9},
        {"num_segments": 10**9},
        {"intermediate_dim": 10**4000},
        {"hidden_dim": 4 * 10**8},
        {"num_inner_repetitions": 3000},
        {"num_layers": 100_000},
        {"vocabulary_size": "many"},
        {"activation": ["relu"]},
        {"x" * 10_000_000: 1, "vocabulary_size": None},
    ],
    ids=lambda sizes: next(iter(sizes))[:30],
)
def test_sizes_are_compared_with_the_files(sizes, folder):
    change_json(folder / "config.json", lambda config: config["config"].update(sizes))
    assert error_of(folder, None) == error_of(folder, CLASSIFIER)


def test_weights_in_several_files(whole, tmp_path):
    model = AlbertTextClassifier.from_preset(whole)
    model.save_to_preset(str(tmp_path), max_shard_size=2e-5)
    assert (tmp_path / "model_00001.weights.h5").is_file()
    restored = load_checkpoint(tmp_path)
    assert max_difference(restored.get_weights(), model.get_weights()) == 0
    save_checkpoint(model, tmp_path)
    assert not (tmp_path / "model_00001.weights.h5").exists()


def test_a_field_that_was_removed_may_be_there_without_effect(folder):
    def change(content):
        config = content["config"]
        config.get("backbone", content)["config"]["keep_positions"] = kept

    for kept in ([], [0.5]):
        for name in ("config.json", "task.json"):
            change_json(folder / name, change)
        if not kept:
            assert AlbertTextClassifier.from_preset(str(folder)).num_classes == 5
    assert "keep_positions" in error_of(folder, CLASSIFIER)


def test_a_model_has_the_backbone_of_the_config(folder):
    def change(task):
        task["config"]["backbone"]["config"]["vocabulary_size"] = 62

    change_json(folder / "task.json", change)
    model = load_checkpoint(folder, head=CLASSIFIER)
    assert (model.num_classes, model.backbone.vocabulary_size) == (5, 61)


@pytest.mark.parametrize("num_classes", [10**9, 6, -1, "5", [5], None])
def test_classes_are_compared_with_the_files(num_classes, folder):
    def change(task):
        task["config"]["num_classes"] = num_classes

    change_json(folder / "task.json", change)
    assert "num_classes=" in error_of(folder, CLASSIFIER)


BIG_LAYER = {
    "module": "keras.layers",
    "class_name": "Embedding",
    "config": {"input_dim": 10**12, "output_dim": 7},
    "registered_name": None,
}


@pytest.mark.parametrize(
    "changes",
    [
        {"registered_name": {"a": 1}},
        {"registered_name": "albert_keras>Absent"},
        {"registered_name": "albert_keras>AlbertTokenizer"},
        {"config": 5},
        {"config": {"backbone": BIG_LAYER}},
        {"config": {"preprocessor": [BIG_LAYER]}},
        {"config": {"dtype": {**BIG_LAYER, "class_name": "Sequential"}}},
        {"config": {"labels": 7}},
        {"config": {"surprise": 7}},
    ],
    ids=str,
)
def test_files_of_other_forms_and_classes_are_refused(changes, folder):
    def change(task):
        config = changes.get("config")
        is_part = isinstance(config, dict)
        task.update({"config": {**task["config"], **config}} if is_part else changes)

    change_json(folder / "task.json", change)
    with pytest.raises(ValueError, match="Received") as caught:
        AlbertTextClassifier.from_preset(folder)
    assert len(str(caught.value)) < 500 + len(str(folder))


def test_presets_of_other_backbones_are_refused(folder):
    def change(config):
        config["registered_name"] = "keras_hub>BertBackbone"

    change_json(folder / "task.json", lambda task: change(task["config"]["backbone"]))
    assert "that fit" in error_of(folder, CLASSIFIER)


@pytest.mark.parametrize("file_name", ["model.weights.h5", "task.weights.h5"])
@pytest.mark.parametrize(
    "value", [np.nan, np.inf, 1e300, 1j, 1, True, b"a", np.int8(1)], ids=repr
)
def test_weights_must_be_finite_floating_point_numbers(value, file_name, folder):
    with h5py.File(folder / file_name, "a") as file:
        bias = file["layers/dense/vars/1"]
        shape = bias.shape
        del file["layers/dense/vars/1"]
        file["layers/dense/vars/1"] = np.full(shape, value)
    assert "Weights must be" in error_of(folder, CLASSIFIER)


@pytest.mark.parametrize(
    ("policy", "is_quantized"),
    [("Int4DTypePolicy", True), ("QuantizedDTypePolicy", True), ("DTypePolicy", False)],
)
def test_only_policies_of_integers_have_weights_of_integers(
    policy, is_quantized, folder
):
    def change(config):
        layers = {"Quantized": {"class_name": policy, "config": {}}}
        policies = {"class_name": "DTypePolicyMap", "config": {"policy_map": layers}}
        config["config"]["dtype"] = policies

    change_json(folder / "config.json", change)
    with h5py.File(folder / "model.weights.h5", "a") as file:
        shape = file["layers/dense/vars/1"].shape
        del file["layers/dense/vars/1"]
        file["layers/dense/vars/1"] = np.ones(shape, "int8")
    if is_quantized:
        find_checkpoint(folder).check({})
    else:
        with pytest.raises(ValueError, match="Weights must be floating-point"):
            find_checkpoint(folder).check({})
