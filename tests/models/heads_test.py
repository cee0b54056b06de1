"""A new head: one model class, one entry in `HEADS`, and its names in other files."""

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

import albert_keras as ak
from albert_keras.converters import find_checkpoint
from albert_keras.converters.heads import FOREIGN_HEADS, ForeignHead, head_of
from albert_keras.converters.name_table import Row
from albert_keras.models import HEADS, AlbertBackbone, AlbertTextClassifier, HeadSpec
from albert_keras.models.task import FineTuned
from tests.helpers import make_config, make_inputs, max_difference, randomize


@keras.saving.register_keras_serializable(package="albert_keras_tests")
class WordSense(FineTuned, keras_hub.models.Task):
    """Classes of one word in each text, from the vector at its position."""

    reads_pooled_output = False
    arguments = ("dropout", "num_senses")

    def __init__(self, backbone, num_senses, preprocessor=None, dropout=0.2, **kwargs):
        self.num_senses = num_senses
        self.add_layers(backbone, preprocessor, num_senses, dropout)
        positions = keras.Input((), dtype="int32", name="word_positions")
        tokens = backbone(backbone.input)["sequence_output"]
        places = keras.ops.expand_dims(positions, (1, 2))
        word = keras.ops.take_along_axis(tokens, places, axis=1)[:, 0]
        super().__init__(
            inputs={**backbone.input, "word_positions": positions},
            outputs=self.output_dense(self.output_dropout(word)),
            **kwargs,
        )


@pytest.fixture(autouse=True)
def new_head(monkeypatch):
    spec = HeadSpec(WordSense, "num_senses", "logits/bias")
    monkeypatch.setitem(HEADS, "word_sense", spec)
    rows = (
        Row("sense/weights", "logits/kernel", True),
        Row("sense/bias", "logits/bias"),
    )
    monkeypatch.setitem(FOREIGN_HEADS, "word_sense", ForeignHead(google=rows))


@pytest.fixture(scope="module")
def model():
    backbone = AlbertBackbone(**make_config(num_groups=2).to_dict())
    return randomize(WordSense(backbone, num_senses=7))


def inputs_of_words():
    return {**make_inputs(), "word_positions": np.array([1, 3, 0, 4, 2], "int32")}


@pytest.mark.parametrize("format", ["keras", "google"])
def test_new_head_is_saved_found_and_loaded(format, model, tmp_path):
    ak.save_checkpoint(model, tmp_path, format)
    assert find_checkpoint(tmp_path).head == "word_sense"
    restored = ak.load_checkpoint(tmp_path, head="word_sense")
    assert type(restored) is WordSense
    assert restored.num_senses == 7
    inputs = inputs_of_words()
    assert max_difference(restored(inputs), model(inputs)) == 0.0


def test_new_head_is_added_to_a_backbone(model, tmp_path):
    ak.save_checkpoint(model.backbone, tmp_path)
    with pytest.warns(UserWarning, match="has no word_sense head of 5 cl.* new one"):
        restored = ak.load_checkpoint(tmp_path, head="word_sense", num_classes=5)
    assert restored.num_senses == 5


def test_new_head_keeps_its_weights_in_another_architecture(model):
    unshared = ak.converters.change_architecture(model, sharing="none")
    assert type(unshared) is WordSense
    inputs = inputs_of_words()
    assert max_difference(unshared(inputs), model(inputs)) < 1e-5


@pytest.mark.slow
def test_new_head_is_exported(model, tmp_path):
    ak.export_saved_model(model, tmp_path / "exported")
    served = tf.saved_model.load(str(tmp_path / "exported")).signatures[
        "serving_default"
    ]
    inputs = inputs_of_words()
    outputs = served(**{name: tf.constant(value) for name, value in inputs.items()})
    assert max_difference(outputs["logits"], model(inputs)) < 1e-5


@keras.saving.register_keras_serializable(package="albert_keras_tests")
class OwnBackbone(AlbertBackbone):
    """A user's backbone."""


@keras.saving.register_keras_serializable(package="albert_keras_tests")
class OwnClassifier(AlbertTextClassifier):
    """A user's classifier."""

    # keras-hub looks for a class by its backbone: with ours, `TextClassifier.from_preset`
    # of other tests would find this class.
    backbone_cls = OwnBackbone


def test_subclasses_have_the_head_of_their_class(tmp_path):
    backbone = OwnBackbone(**make_config().to_dict())
    model = randomize(OwnClassifier(backbone, num_classes=11))
    assert head_of(model) == "sequence_classification"
    for format in ("keras", "huggingface"):
        folder = tmp_path / format
        ak.save_checkpoint(model, folder, format)
        assert find_checkpoint(folder).head == "sequence_classification"
        restored = ak.load_checkpoint(folder, head="sequence_classification")
        assert isinstance(restored, OwnClassifier) == (format == "keras")
        assert max_difference(restored.get_weights(), model.get_weights()) == 0.0
    assert type(ak.converters.change_architecture(model, num_layers=5)) is OwnClassifier


def test_subclasses_of_the_backbone_are_loaded_as_such(tmp_path):
    backbone = randomize(OwnBackbone(**make_config().to_dict()))
    assert head_of(backbone) is None
    ak.save_checkpoint(backbone, tmp_path)
    assert type(ak.load_checkpoint(tmp_path, head=None)) is OwnBackbone
    assert type(ak.converters.resize_vocabulary(backbone, 67)) is OwnBackbone


def test_classes_are_public():
    assert {spec.model.__name__ for spec in HEADS.values()} <= {
        *ak.__all__,
        "WordSense",
    }
