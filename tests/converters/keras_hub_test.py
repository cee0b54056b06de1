"""keras-hub's models as presets and in memory."""

import json
import shutil

import keras_hub
import pytest

import albert_keras as ak
from albert_keras.converters import load_checkpoint, save_checkpoint
from tests.helpers import make_inputs, max_difference, randomize
from tools.verify_conversion import compare_outputs

SIZES = {
    **{"vocabulary_size": 61, "num_layers": 4, "num_heads": 3, "num_groups": 2},
    **{"num_inner_repetitions": 2, "embedding_dim": 9, "hidden_dim": 24},
    **{"intermediate_dim": 40, "max_sequence_length": 19, "dropout": 0.2},
}


def save_theirs(head, folder, max_shard_size=10, **options):
    """Saves a model of keras-hub as a preset, and returns the folder."""
    model = keras_hub.models.AlbertBackbone(**SIZES)
    if head == "pretraining":
        model = keras_hub.models.AlbertMaskedLM(model)
    elif head == "sequence_classification":
        options = {"num_classes": 11, "dropout": 0.3} | options
        model = keras_hub.models.AlbertTextClassifier(model, **options)
    randomize(model).save_to_preset(str(folder), max_shard_size=max_shard_size)
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("preset") / "whole"
    return save_theirs("sequence_classification", folder)


@pytest.fixture
def preset(whole, tmp_path):
    """Folder of a classifier's preset, which a test may change."""
    return shutil.copytree(whole, tmp_path / "preset")


def check_outputs(ours, folder):
    comparison = compare_outputs(ours, folder)
    assert comparison.library == "keras_hub"
    assert max(comparison.differences.values()) < 1e-5


@pytest.mark.parametrize("max_shard_size", [10, 4e-5])
@pytest.mark.parametrize("head", [None, "sequence_classification"])
def test_outputs_equal_keras_hubs(head, max_shard_size, tmp_path):
    folder = save_theirs(head, tmp_path / "preset", max_shard_size)
    assert (folder / "model.weights.json").is_file() == (max_shard_size < 1)
    ours = load_checkpoint(folder)
    check_outputs(ours, folder)
    backbone = ours if head is None else ours.backbone
    assert backbone.dropout == backbone.attention_dropout == 0.2
    if head == "sequence_classification":
        assert (ours.num_classes, ours.dropout) == (11, 0.3)


def test_model_in_memory_with_its_tokenizer():
    backbone = keras_hub.models.AlbertBackbone(**SIZES | {"vocabulary_size": 8000})
    tokenizer = ak.load_tokenizer("albert_nano_en")
    preprocessor = keras_hub.models.AlbertTextClassifierPreprocessor(
        keras_hub.models.AlbertTokenizer(tokenizer.encoder.proto), sequence_length=13
    )
    theirs = keras_hub.models.AlbertTextClassifier(backbone, 3, preprocessor)
    randomize(theirs)
    ours = load_checkpoint(theirs)
    features = make_inputs()
    assert max_difference(ours(features), theirs(features)) < 1e-5
    assert ours.preprocessor.tokenizer("the end") == tokenizer("the end")
    bare = load_checkpoint(backbone)
    assert max_difference(bare.get_weights(), ours.backbone.get_weights()) == 0


@pytest.mark.filterwarnings("ignore:keras-hub's masked-word head")
def test_masked_words_are_equal_with_the_same_epsilon(tmp_path):
    folder = save_theirs("pretraining", tmp_path / "preset")
    with (
        pytest.warns(UserWarning, match="epsilon of 1e-5"),
        pytest.warns(UserWarning, match="no sentence-pair head"),
    ):
        ours = load_checkpoint(folder)
    check_outputs(ours, folder)


def test_presets_of_keras_nlp(whole, preset):
    for name in ("config.json", "task.json"):
        file = preset / name
        file.write_text(file.read_text().replace("keras_hub>", "keras_nlp>"))
    check_outputs(load_checkpoint(preset), whole)


def test_classifier_that_gives_probabilities(tmp_path):
    options = {"num_classes": 5, "activation": "sigmoid"}
    folder = save_theirs("sequence_classification", tmp_path / "theirs", **options)
    model = load_checkpoint(folder)
    check_outputs(model, folder)
    # keras-hub loads what is written from ours.
    save_checkpoint(model, tmp_path / "ours", "keras_hub")
    check_outputs(model, tmp_path / "ours")


@pytest.mark.parametrize("num_classes", [None, -1, 10**12])
def test_classes_must_be_those_of_the_weights(num_classes, preset):
    stated = json.loads((preset / "task.json").read_text())
    stated["config"]["num_classes"] = num_classes
    (preset / "task.json").write_text(json.dumps(stated))
    with pytest.raises(ValueError, match=f"num_classes={num_classes}"):
        load_checkpoint(preset, head="sequence_classification")


def test_unknown_task_is_refused(preset):
    file = preset / "task.json"
    file.write_text(file.read_text().replace("AlbertTextClassifier", "AlbertRanker"))
    with pytest.raises(ValueError, match="Received: .*task.json' of .*AlbertRanker"):
        load_checkpoint(preset, head=None)


def test_preset_cannot_name_code(tmp_path):
    save_theirs(None, tmp_path)
    stated = json.loads((tmp_path / "config.json").read_text())
    stated["config"]["vocabulary_size"] = {
        "module": "os",
        "class_name": "system",
        "config": {"command": f"touch {tmp_path}/executed"},
        "registered_name": None,
    }
    (tmp_path / "config.json").write_text(json.dumps(stated))
    with pytest.raises(ValueError, match="`vocabulary_size` must be an integer"):
        load_checkpoint(tmp_path, head=None)
    assert not (tmp_path / "executed").exists()
