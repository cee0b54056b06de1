"""Backbones that fine-tuning starts from, and frozen parts."""

import dataclasses

import pytest

from albert_keras.models import (
    AlbertBackbone,
    AlbertEarlyExitClassifier,
    AlbertPretrainer,
    AlbertTextClassifier,
)
from albert_keras.pretraining import PretrainingTask
from albert_keras.runs.finetuning import add_exits_to_classifier, load_backbone
from albert_keras.runs.finetuning_config import FinetuningRunConfig
from albert_keras.runs.pretraining import build_model, load_start
from albert_keras.runs.pretraining_config import PretrainingRunConfig
from tests.helpers import max_difference


@pytest.fixture(scope="module")
def preset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("preset")
    model = AlbertPretrainer(AlbertBackbone.from_config_preset("albert_test"))
    model.save_to_preset(str(folder))
    return folder, model.backbone


def config(preset, **options):
    return FinetuningRunConfig(
        task="sst-2", run="run", checkpoint=str(preset[0]), **options
    )


def test_a_backbone_alone_gets_new_heads_in_pretraining(preset, tmp_path):
    preset[1].save_to_preset(str(tmp_path))
    options = {"run": "run", "data": "data", "checkpoint": str(tmp_path)}
    start = load_start(PretrainingRunConfig(**options), vocabulary_size=61)
    model = build_model(PretrainingTask(), *start)
    weights = model.backbone.get_weights()
    assert max_difference(weights, preset[1].get_weights()) == 0
    assert model.pair_head is not None


def test_a_pair_head_of_other_classes_is_new(preset, capsys):
    options = {"run": "run", "data": "data", "checkpoint": str(preset[0])}
    start = load_start(PretrainingRunConfig(**options), vocabulary_size=61)
    tasks = PretrainingTask("distant"), PretrainingTask("ternary")
    same, other = (build_model(task, *start) for task in tasks)
    assert "has 2 classes and not 3" in capsys.readouterr().err
    before = start[1].pair_head.get_weights()
    assert max_difference(same.pair_head.get_weights(), before) == 0
    assert other.pair_head.units == 3
    masked_words = (model.mlm_head.get_weights() for model in (same, other))
    assert max_difference(*masked_words) == 0


def test_weights_of_a_checkpoint_with_another_dropout(preset):
    before = preset[1]
    same = load_backbone(config(preset), None)
    assert same.albert_config == before.albert_config
    other = load_backbone(config(preset, precision="mixed_bfloat16"), 0.375)
    assert other.albert_config == dataclasses.replace(
        before.albert_config, dropout=0.375, attention_dropout=0.375
    )
    assert other.compute_dtype == "bfloat16"
    for backbone in (same, other):
        assert max_difference(backbone.get_weights(), before.get_weights()) == 0


def test_attention_of_a_checkpoint_can_change(preset):
    options = {"model_options": {"attention": "block", "block_size": 3}}
    finetuned = load_backbone(config(preset, **options), None)
    pretraining = PretrainingRunConfig(
        run="run", data="data", checkpoint=str(preset[0]), **options
    )
    shapes = load_start(pretraining, 61)[0], finetuned.albert_config
    expected = dataclasses.replace(
        preset[1].albert_config, attention="block", block_size=3
    )
    assert shapes == (expected, expected)
    assert max_difference(finetuned.get_weights(), preset[1].get_weights()) == 0


@pytest.mark.parametrize("num_layers", [1, 5])
def test_finetuning_may_change_the_depth(preset, num_layers):
    """A shared layer is applied less or more often, with the weights as they are."""
    options = {"model_options": {"num_layers": num_layers}}
    backbone = load_backbone(config(preset, **options), None)
    assert backbone.num_layers == num_layers
    assert max_difference(backbone.get_weights(), preset[1].get_weights()) == 0
    fresh = load_backbone(config(preset, random_weights=True, **options), None)
    assert fresh.albert_config == backbone.albert_config


def test_exits_begin_with_the_head_of_a_finished_classifier(preset, tmp_path):
    backbone = AlbertBackbone.from_config_preset("albert_test", num_layers=2)
    classifier = AlbertTextClassifier(backbone, 3, labels=["a", "b", "c"])
    classifier.save_to_preset(str(tmp_path))
    start = config([tmp_path])
    model = AlbertEarlyExitClassifier(backbone, 3, labels=["a", "b", "c"])
    add_exits_to_classifier(model, start)
    (kernel,) = model.exit_heads.get_weights()[0]
    assert max_difference(kernel, classifier.output_dense.get_weights()[0]) == 0.0
    assert len(model.trainable_variables) == 2

    with pytest.raises(ValueError, match="Exits in two stages.*which is not one"):
        add_exits_to_classifier(model, config(preset))
    other = AlbertEarlyExitClassifier(backbone, 3, labels=["x", "y", "z"])
    with pytest.raises(ValueError, match="labels of the cl.*'x'.*which has .*'a'"):
        add_exits_to_classifier(other, start)
    with pytest.raises(ValueError, match="early_exit=two-stage.*Received: freeze"):
        add_exits_to_classifier(model, config([tmp_path], freeze="backbone"))
    deeper = config([tmp_path], model_options={"num_layers": 3})
    with pytest.raises(ValueError, match="early_exit=two-stage.*Received: num_layers"):
        add_exits_to_classifier(model, deeper)
