"""keras-hub's models in memory and as presets."""

import functools
import json
import shutil

import keras
import keras_hub
import pytest

from albert_keras.converters import load_checkpoint, save_checkpoint
from albert_keras.models import AlbertBackbone
from tests.helpers import randomize
from tools.verify_conversion import compare_outputs

SIZES = {
    **{"vocabulary_size": 61, "num_layers": 4, "num_heads": 3, "num_groups": 2},
    **{"num_inner_repetitions": 2, "embedding_dim": 9, "hidden_dim": 24},
    **{"intermediate_dim": 40, "max_sequence_length": 19, "dropout": 0.2},
}
HEADS = [None, "pretraining", "sequence_classification"]


@functools.cache
def make_theirs(head):
    """Returns a model of keras-hub, which tests do not change."""
    backbone = keras_hub.models.AlbertBackbone(**SIZES)
    if head == "pretraining":
        return randomize(keras_hub.models.AlbertMaskedLM(backbone))
    if head == "sequence_classification":
        classes = {"num_classes": 11, "dropout": 0.3}
        return randomize(keras_hub.models.AlbertTextClassifier(backbone, **classes))
    return randomize(backbone)


@pytest.fixture(scope="module")
def whole_preset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("preset") / "whole"
    make_theirs("sequence_classification").save_to_preset(str(folder))
    return folder


@pytest.fixture
def preset(whole_preset, tmp_path):
    """Folder of a classifier's preset, which a test may change."""
    return shutil.copytree(whole_preset, tmp_path / "preset")


def check_outputs(ours, theirs):
    comparison = compare_outputs(ours, theirs)
    assert comparison.library == "keras_hub"
    assert max(comparison.differences.values()) < 1e-5


@pytest.mark.parametrize(
    ("head", "as_preset"), [*((head, True) for head in HEADS), (HEADS[2], False)]
)
@pytest.mark.filterwarnings("ignore:.*no sentence-pair head")
@pytest.mark.filterwarnings("ignore:keras-hub's masked-word head")
def test_outputs_equal_keras_hubs(head, as_preset, tmp_path):
    theirs = make_theirs(head)
    if as_preset:
        theirs.save_to_preset(str(tmp_path / "preset"))
    ours = load_checkpoint(tmp_path / "preset" if as_preset else theirs, head=head)
    check_outputs(ours, theirs)
    backbone = ours if head is None else ours.backbone
    assert backbone.dropout == backbone.attention_dropout == 0.2
    if head == "sequence_classification":
        assert (ours.num_classes, ours.dropout) == (11, 0.3)


def test_difference_of_masked_words_is_a_warning():
    theirs = make_theirs("pretraining")
    with (
        pytest.warns(UserWarning, match="epsilon of 1e-5"),
        pytest.warns(UserWarning, match="no sentence-pair head"),
    ):
        load_checkpoint(theirs)


def test_presets_of_keras_nlp(preset):
    for name in ("config.json", "task.json"):
        file = preset / name
        file.write_text(file.read_text().replace("keras_hub>", "keras_nlp>"))
    head = "sequence_classification"
    check_outputs(load_checkpoint(preset, head=head), make_theirs(head))


def test_classifier_that_gives_probabilities(tmp_path):
    backbone = keras_hub.models.AlbertBackbone(**SIZES)
    theirs = keras_hub.models.AlbertTextClassifier(backbone, 5, activation="sigmoid")
    model = load_checkpoint(theirs, head="sequence_classification")
    check_outputs(model, theirs)
    save_checkpoint(model, tmp_path, "keras_hub")
    task = json.loads((tmp_path / "task.json").read_text())
    assert task["config"]["activation"] == "sigmoid"


def test_other_models_are_refused():
    model = keras.Sequential([keras.layers.Dense(3)])
    with pytest.raises(ValueError, match="keras-hub's AlbertB.*Received: Sequential"):
        load_checkpoint(model, head=None)


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
    make_theirs(None).save_to_preset(str(tmp_path))
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
    assert isinstance(load_checkpoint(make_theirs(None), head=None), AlbertBackbone)
