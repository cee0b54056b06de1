"""The encoder as a model: contract, sharing, intermediate outputs, LoRA."""

import inspect

import keras
import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.keras_internals import flatten_layers
from albert_keras.models import AlbertBackbone, AlbertMultipleChoice, AlbertPretrainer
from tests.helpers import make_config, make_inputs, max_difference, randomize

INPUTS = make_inputs()
SHAPES = {"sequence_output": (5, 13, 28), "pooled_output": (5, 28)}


def make_backbone(dtype=None, **overrides):
    return AlbertBackbone(**make_config(**overrides).to_dict(), dtype=dtype)


def test_arguments_are_those_of_keras_hub_and_then_ours():
    theirs = list(inspect.signature(keras_hub.models.AlbertBackbone).parameters)
    theirs = [name for name in theirs if name not in ("dtype", "kwargs")]
    ours = inspect.signature(AlbertBackbone).parameters
    assert list(ours)[: len(theirs)] == theirs
    assert ours["dtype"].kind is inspect.Parameter.KEYWORD_ONLY


def test_depth_changes_the_output_and_not_the_parameters():
    shallow, deep = make_backbone(num_layers=2), make_backbone(num_layers=7)
    assert deep.count_params() == shallow.count_params() == 7516
    deep.set_weights(randomize(shallow).get_weights())
    assert max_difference(deep(INPUTS), shallow(INPUTS)) > 1e-2
    # One layer more is the one layer once more.
    states = deep.with_outputs(hidden_states=True)(INPUTS)["hidden_states"]
    assert max_difference(states[2], shallow(INPUTS)["sequence_output"]) < 1e-6


@pytest.mark.parametrize("embedding_dim", [9, 28])
def test_epsilon_is_the_same_in_every_normalization(embedding_dim):
    pretrainer = AlbertPretrainer(make_backbone(embedding_dim=embedding_dim))
    epsilons = [
        layer.epsilon
        for layer in flatten_layers(pretrainer)
        if isinstance(layer, keras.layers.LayerNormalization)
    ]
    # Embedding, attention, feed-forward and MLM head.
    assert epsilons == [1e-12] * 4


@pytest.mark.slow
def test_intermediate_outputs_are_those_of_the_one_forward_path():
    backbone = randomize(make_backbone(num_groups=2, num_inner_repetitions=2))
    model = backbone.with_outputs(hidden_states=True, attention_scores=True)
    outputs = model.predict(INPUTS, verbose=0)
    states, scores = outputs.pop("hidden_states"), outputs.pop("attention_scores")
    assert max_difference(outputs, backbone(INPUTS)) < 5e-6
    assert [state.shape for state in states] == [(5, 13, 28)] * 7
    assert [score.shape for score in scores] == [(5, 4, 13, 13)] * 6
    embedded = backbone.embedding(INPUTS["token_ids"], INPUTS["segment_ids"])
    assert max_difference(states[0], embedded) < 5e-6
    assert max_difference(states[-1], outputs["sequence_output"]) == 0.0
    assert max(np.abs(score.sum(-1) - 1.0).max() for score in scores) < 1e-5
    # Only those that are asked for are added.
    assert set(backbone.with_outputs()(INPUTS)) == set(SHAPES)
    added = set(backbone.with_outputs(attention_scores=True)(INPUTS)) - set(SHAPES)
    assert added == {"attention_scores"}


LORA_NAMES = {"query/lora_kernel_a", "query/lora_kernel_b", "query/bias"} | {
    "value/lora_kernel_a",
    "value/lora_kernel_b",
    "value/bias",
}


@pytest.mark.slow
@pytest.mark.skipif(keras.config.backend() != "jax", reason="other_backends_test does")
@pytest.mark.filterwarnings("ignore:The `native_serialization:DeprecationWarning")
@pytest.mark.parametrize("head", [AlbertPretrainer, AlbertMultipleChoice])
def test_models_are_exported_for_any_length_on_jax(head, tmp_path):
    model = head(make_backbone(num_layers=1))
    model.export(tmp_path / "exported", verbose=False)
    exported = tf.saved_model.load(tmp_path / "exported")
    for rows, length in ((2, 5), (3, 7)):
        has_choices = model.input["token_ids"].ndim == 3
        shape = (rows, 4, length) if has_choices else (rows, length)
        x = {name: np.ones(shape, "int32") for name in model.input}
        if "mask_positions" in x:
            x["mask_positions"] = x["mask_positions"][:, :3]
        given = {name: tf.constant(value) for name, value in x.items()}
        found, expected = exported.serve(given), model.predict_on_batch(x)
        tf.nest.map_structure(
            lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), found, expected
        )


def test_lora_trains_its_own_variables_only(tmp_path):
    backbone = randomize(make_backbone(num_groups=2))
    before = backbone(INPUTS)
    backbone.enable_lora(rank=2)
    assert max_difference(backbone(INPUTS), before) == 0.0
    trainable = [variable.path for variable in backbone.trainable_variables]
    assert {"/".join(path.split("/")[-2:]) for path in trainable} == LORA_NAMES
    assert len(trainable) == 2 * len(LORA_NAMES)

    values = {v.path: v.numpy() for v in backbone.variables}
    backbone.compile(keras.optimizers.SGD(0.1), loss="mse", run_eagerly=True)
    labels = {name: np.ones(shape) for name, shape in SHAPES.items()}
    # The first step moves one factor only, since the other begins at zero.
    for _ in range(2):
        backbone.train_on_batch(INPUTS, labels)
    changed = [
        v.path for v in backbone.variables if (v != values[v.path]).numpy().any()
    ]
    assert sorted(changed) == sorted(trainable)
    assert max_difference(backbone(INPUTS), before) > 1e-3

    backbone.save_lora_weights(tmp_path / "adapter.lora.h5")
    restored = make_backbone(num_groups=2)
    restored.load_lora_weights(tmp_path / "adapter.lora.h5")
    for ours, theirs in zip(restored.variables, backbone.variables, strict=True):
        if "lora" in ours.path:
            assert max_difference(ours, theirs) == 0.0
