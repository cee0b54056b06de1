"""Compile defaults of the task models, and saving and loading of them and presets."""

import os

import keras
import numpy as np
import pytest

from albert_keras.models import (
    AlbertBackbone,
    AlbertJointQuestionAnswerer,
    AlbertMultipleChoice,
    AlbertPretrainer,
    AlbertQuestionAnswerer,
    AlbertTextClassifier,
    AlbertTokenClassifier,
)
from albert_keras.optimizers import AdamW, Lamb, WarmupPolynomialDecay
from albert_keras.presets import transfer
from albert_keras.tokenizers import WordPieceTokenizer
from tests.helpers import make_config, make_inputs, max_difference

INPUTS = make_inputs()
HEADS = {
    AlbertTextClassifier: {"num_classes": 7},
    AlbertTokenClassifier: {"num_classes": 7},
    AlbertQuestionAnswerer: {},
    AlbertMultipleChoice: {},
}


def make_classifier():
    backbone = AlbertBackbone(**make_config().to_dict())
    return AlbertTextClassifier(backbone, num_classes=11, dropout=0.0)


def save_and_load(model, tmp_path):
    model.save(tmp_path / "model.keras")
    return keras.saving.load_model(tmp_path / "model.keras")


@pytest.mark.parametrize("num_steps", [0, 2])
def test_a_loaded_model_continues_training_as_the_saved_one(num_steps, tmp_path):
    model = make_classifier()
    schedule = WarmupPolynomialDecay(0.01, decay_steps=10, warmup_steps=1)
    model.compile(
        Lamb(schedule, weight_decay=0.03, global_clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, name="own_loss"
        ),
        metrics=[keras.metrics.SparseTopKCategoricalAccuracy(3, name="top")],
        run_eagerly=True,
    )
    labels = np.arange(5)
    for _ in range(num_steps):
        model.train_on_batch(INPUTS, labels)
    restored = save_and_load(model, tmp_path)
    assert restored.optimizer.get_config() == model.optimizer.get_config()
    assert restored.loss.get_config() == model.loss.get_config()
    assert int(restored.optimizer.iterations) == num_steps

    # Only some versions of Keras save the values of metrics.
    for each in (model, restored):
        each.reset_metrics()
    logs = [
        m.train_on_batch(INPUTS, labels, return_dict=True) for m in (model, restored)
    ]
    assert logs[0].keys() == logs[1].keys() == {"loss", "top"}
    assert logs[0]["loss"] == logs[1]["loss"]
    assert max_difference(restored.get_weights(), model.get_weights()) == 0.0
    assert (
        max_difference(restored.optimizer.variables, model.optimizer.variables) == 0.0
    )


@pytest.mark.parametrize("config", [None, {}])
def test_a_model_saved_without_a_compile_configuration_is_loaded(config):
    model = make_classifier()
    model.compile_from_config(config)
    assert isinstance(model.optimizer, AdamW)


@pytest.fixture
def preset(tmp_path):
    """Returns a folder with a pretrainer and a tokenizer, as of a run, and the model."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *map(chr, range(97, 123))]
    config = make_config(vocabulary_size=len(tokens))
    pretrainer = AlbertPretrainer(AlbertBackbone(**config.to_dict()))
    pretrainer.save_to_preset(str(tmp_path))
    WordPieceTokenizer(tokens).save_to_preset(str(tmp_path))
    return tmp_path, pretrainer


def test_another_head_has_new_weights_and_the_tokenizer(preset):
    folder, pretrainer = preset
    classifier = AlbertTextClassifier.from_preset(folder, num_classes=3)
    weights = pretrainer.backbone.get_weights()
    assert max_difference(classifier.backbone.get_weights(), weights) == 0.0
    assert classifier.preprocessor.sequence_length == 19
    features = classifier.preprocessor(["a b", "c"])
    assert np.array(features["token_ids"])[0, :5].tolist() == [2, 5, 6, 3, 0]
    assert classifier.predict(["a b", "c"], verbose=0).shape == (2, 3)


def test_a_model_without_preprocessor_is_uploaded(monkeypatch):
    uploaded = {}

    def upload(folder, address):
        uploaded[address] = set(os.listdir(folder))

    monkeypatch.setattr(transfer, "upload", upload)
    make_classifier().save_to_preset("hf://me/film")
    assert uploaded["hf://me/film"] > {"config.json", "task.json", "task.weights.h5"}


@pytest.mark.parametrize("head", [*HEADS, AlbertJointQuestionAnswerer])
def test_given_arguments_replace_the_defaults(head):
    backbone = AlbertBackbone(**make_config(num_layers=2).to_dict())
    model = head(backbone, **HEADS.get(head, {}))
    model.compile()
    # The optimizer of `albert-keras finetune`.
    expected = AdamW(1e-3, weight_decay=0.01, global_clipnorm=1.0)
    assert isinstance(model.optimizer, AdamW)
    assert model.optimizer.get_config() == {
        **expected.get_config(),
        "name": model.optimizer.name,
    }
    names = ["metrics", "weighted_metrics"]
    # Where weights are those of examples, the metrics do not depend on them.
    of_examples = head in (AlbertTextClassifier, AlbertMultipleChoice)
    used, unused = names if of_examples else names[::-1]
    config = model.get_compile_config()
    assert config[used]
    assert not config[unused]
    answers = (AlbertQuestionAnswerer, AlbertJointQuestionAnswerer)
    expected = dict.fromkeys(model.output, 0.5) if head in answers else None
    assert config["loss_weights"] == expected
    model.compile("sgd", metrics=None)
    assert isinstance(model.optimizer, keras.optimizers.SGD)
    assert not any(model.get_compile_config()[name] for name in names)


@pytest.mark.slow
def test_a_quantized_model_is_saved_and_loaded(preset, tmp_path):
    classifier = AlbertTextClassifier.from_preset(preset[0], num_classes=3)
    # Called without `predict`, whose functions take seconds to trace.
    features = classifier.preprocessor(["a b", "c"])
    plain = classifier(features)
    classifier.quantize("int8")
    expected = classifier(features)
    assert 1e-6 < max_difference(expected, plain) < 0.02
    classifier.save_to_preset(str(tmp_path / "classifier"))
    from_preset = AlbertTextClassifier.from_preset(tmp_path / "classifier")
    for restored in (save_and_load(classifier, tmp_path), from_preset):
        assert max_difference(restored(features), expected) == 0.0
    # The backbone alone, and under a new head.
    backbone = AlbertBackbone.from_preset(tmp_path / "classifier")
    of_two = AlbertTextClassifier.from_preset(tmp_path / "classifier", num_classes=2)
    for restored in (backbone, of_two.backbone):
        assert max_difference(restored(features), classifier.backbone(features)) == 0.0


@pytest.mark.slow
def test_lora_is_merged_and_training_goes_on():
    model = make_classifier()
    model.backbone.enable_lora(rank=2)
    model.compile(keras.optimizers.SGD(0.5, momentum=0.9), run_eagerly=True)
    labels = np.arange(5)
    for _ in range(2):
        model.train_on_batch(INPUTS, labels)
    expected = model(INPUTS)
    model.merge_lora()
    assert max_difference(model(INPUTS), expected) < 1e-6
    names = [v.path for v in make_classifier().trainable_variables]
    assert [v.path for v in model.trainable_variables] == names
    weights = model.get_weights()
    model.train_on_batch(INPUTS, labels)
    assert max_difference(model.get_weights(), weights) > 1e-3
    assert float(model.optimizer.learning_rate) == 0.5
