"""The same weights in another architecture."""

import functools

import keras
import numpy as np
import pytest

from albert_keras.converters import change_architecture, resize_vocabulary
from albert_keras.models import (
    AlbertBackbone,
    AlbertEarlyExitClassifier,
    AlbertPretrainer,
)
from tests.helpers import make_config, make_inputs, max_difference, randomize


@functools.cache
def make_pretrainer(**overrides):
    """Returns a model with random weights, which tests do not change."""
    backbone = AlbertBackbone(**make_config(**overrides).to_dict())
    return randomize(AlbertPretrainer(backbone, num_pair_classes=7))


def outputs_of(model):
    return model({**make_inputs(), "mask_positions": np.tile([[1, 4, 0]], (5, 1))})


@pytest.mark.parametrize(
    "changes", [{"sharing": "none"}, {"sharing": "attention"}, {"num_groups": 4}]
)
def test_less_sharing_gives_the_same_outputs(changes):
    model = make_pretrainer(num_layers=4, num_groups=2, num_inner_repetitions=2)
    changed = change_architecture(model, **changes)
    assert changed.count_params() > model.count_params()
    assert max_difference(outputs_of(changed), outputs_of(model)) == 0.0
    assert changed.num_pair_classes == 7


def test_copied_layers_can_be_shared_again():
    model = make_pretrainer(num_layers=5)
    unshared = change_architecture(model, sharing="none")
    again = change_architecture(unshared, sharing="all")
    assert max_difference(again.get_weights(), model.get_weights()) == 0.0
    as_groups = change_architecture(unshared, sharing="all", num_groups=5)
    assert max_difference(outputs_of(as_groups), outputs_of(model)) == 0.0


def test_layers_that_differ_are_not_shared():
    model = make_pretrainer(sharing="none")
    with pytest.raises(ValueError, match="Received: different layer_0_inner_0_a"):
        change_architecture(model, sharing="all")


def test_a_model_with_exits_keeps_its_depth():
    model = AlbertEarlyExitClassifier(AlbertBackbone(**make_config().to_dict()), 7)
    with pytest.raises(ValueError, match="exits cannot change. Received: num_layers=5"):
        change_architecture(model, num_layers=5)
    unshared = change_architecture(model, sharing="none")
    heads = (m.exit_heads.get_weights() for m in (model, unshared))
    assert max_difference(*heads) == 0.0


def test_deeper_model_starts_from_the_shallower_one():
    model = make_pretrainer(num_layers=3)
    deeper = change_architecture(model, num_layers=7)
    assert deeper.count_params() == model.count_params()
    assert max_difference(deeper.get_weights(), model.get_weights()) == 0.0
    own = make_pretrainer(num_layers=2, sharing="none")
    deeper = change_architecture(own, num_layers=5)
    assert layers_copied(own.backbone, deeper.backbone) == [0, 0, 0, 1, 1]


def test_shallower_model_has_evenly_spaced_layers():
    own = randomize(
        AlbertBackbone(**make_config(num_layers=5, sharing="none").to_dict())
    )
    assert layers_copied(own, change_architecture(own, num_layers=3)) == [0, 2, 4]
    assert layers_copied(own, change_architecture(own, num_layers=1)) == [0]


def layers_copied(old, new):
    """Returns the old layer whose weights each layer of a backbone has."""
    of_old, of_new = (
        [encoder.feed_forward.get_weights() for encoder in backbone.encoders]
        for backbone in (old, new)
    )
    return [
        next(i for i, old in enumerate(of_old) if max_difference(own, old) == 0.0)
        for own in of_new
    ]


def test_positions_are_repeated_for_longer_rows():
    model = make_pretrainer(max_sequence_length=13)
    longer = change_architecture(model, max_sequence_length=31)
    assert max_difference(outputs_of(longer), outputs_of(model)) == 0.0
    (old,) = model.backbone.embedding.position_embedding.get_weights()
    (new,) = longer.backbone.embedding.position_embedding.get_weights()
    assert np.array_equal(new, [*old, *old, *old[:5]])
    again = change_architecture(longer, max_sequence_length=13)
    assert max_difference(again.get_weights(), model.get_weights()) == 0.0


def test_attention_in_blocks_keeps_the_weights():
    model = make_pretrainer()
    blocks = change_architecture(model, attention="block", block_size=2)
    assert max_difference(outputs_of(blocks), outputs_of(model)) > 1e-3
    assert blocks.backbone.get_config()["attention"] == "block"
    full = change_architecture(blocks, attention="full")
    assert max_difference(outputs_of(full), outputs_of(model)) == 0.0


def test_dropout_can_change_and_the_old_model_does_not():
    model = make_pretrainer()
    changed = change_architecture(model, dropout=0.2, attention_dropout=0.3)
    assert changed.backbone.albert_config.attention_dropout == 0.3
    assert model.backbone.dropout == 0.0
    assert max_difference(outputs_of(changed), outputs_of(model)) == 0.0


def test_fields_that_weights_depend_on_are_refused():
    with pytest.raises(ValueError, match="num_layers.*Received: activation, num_heads"):
        change_architecture(make_pretrainer(), num_heads=2, activation="relu")


@pytest.mark.parametrize("size", [67, 53])
def test_vocabulary_of_another_size_keeps_the_common_rows(size):
    model = make_pretrainer()
    resized = resize_vocabulary(model, size, seed=3)
    num_rows = min(size, 61)
    table, old_table = (
        keras.ops.convert_to_numpy(m.backbone.token_embedding.embeddings)
        for m in (resized, model)
    )
    assert table.shape == (size, 9)
    assert (table[:num_rows] == old_table[:num_rows]).all()
    inputs = make_inputs()
    inputs["token_ids"] = inputs["token_ids"] % num_rows
    inputs["mask_positions"] = np.tile([[1, 4, 0]], (5, 1))
    outputs, expected = resized(inputs), model(inputs)
    assert max_difference(outputs["sop_logits"], expected["sop_logits"]) < 1e-6
    logits = outputs["mlm_logits"][..., :num_rows]
    assert max_difference(logits, expected["mlm_logits"][..., :num_rows]) < 1e-5


def test_new_pieces_depend_on_the_seed():
    model = make_pretrainer(initializer_range=0.5)
    first, same, other = (
        resize_vocabulary(model, 83, seed).backbone.token_embedding.get_weights()[0][
            61:
        ]
        for seed in (5, 5, 6)
    )
    assert (first == same).all()
    assert (first != other).all()
    assert 0.3 < first.std() < 0.6


@pytest.mark.parametrize("size", [0, -5, 2.5])
def test_vocabulary_size_must_be_positive(size):
    with pytest.raises(ValueError, match=f"Received: vocabulary_size={size}"):
        resize_vocabulary(make_pretrainer(), size)
