"""Packed rows: a model trains on them as if each example stood in its own row."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.models import AlbertBackbone, AlbertPretrainer
from albert_keras.optimizers import Lamb
from tests.helpers import make_config, max_difference, randomize
from tests.packed_rows import packed_batch, separate_batch, weighted

SEPARATE, PACKED = separate_batch(), packed_batch()
ON_TENSORFLOW = keras.config.backend() == "tensorflow"
# On JAX, operations that are not compiled together are slow.
EAGER = {"run_eagerly": True} if ON_TENSORFLOW else {}
needs_tensorflow = pytest.mark.skipif(not ON_TENSORFLOW, reason="needs TensorFlow")


def make_pretrainer(dtype=None, num_pair_classes=2, **overrides):
    config = make_config(num_layers=2, max_sequence_length=41, **overrides)
    backbone = AlbertBackbone(**config.to_dict(), dtype=dtype)
    return randomize(AlbertPretrainer(backbone, num_pair_classes))


def weighted_outputs(model, batch):
    features, _, weights = batch
    return weighted(model(features), weights)


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [("float32", 2e-6), pytest.param("float64", 1e-12, marks=needs_tensorflow)],
)
def test_logits_are_those_of_separate_rows(dtype, tolerance):
    pretrainer = make_pretrainer(dtype, num_groups=2, sharing="attention")
    outputs = pretrainer(PACKED[0])
    assert tuple(outputs["mlm_logits"].shape) == (5, 23, 61)
    assert tuple(outputs["sop_logits"].shape) == (5, 7, 2)
    expected = weighted_outputs(pretrainer, SEPARATE)
    received = weighted_outputs(pretrainer, PACKED)
    assert received["sop_logits"].shape == (11, 2)
    for name in expected:
        assert max_difference(received[name], expected[name]) < tolerance, name


def step(model, batch, **options):
    """Returns the loss of a step and the weights after it, from the same start."""
    start = model.get_weights()
    model.compile(
        Lamb(0.01, global_clipnorm=0.1),
        loss={
            name: keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            for name in batch[1]
        },
        **options,
    )
    features, labels, weights = batch
    # Keras' own `fit`: keras-hub's would warn of the dataset that it makes itself.
    history = keras.Model.fit(
        model,
        features,
        labels,
        sample_weight=weights,
        batch_size=len(features["token_ids"]),
        shuffle=False,
        verbose=0,
    )
    after = model.get_weights()
    model.set_weights(start)
    return history.history["loss"][0], after, start


@pytest.mark.slow
def test_step_of_lamb_is_that_of_separate_rows():
    dtype, tolerance = ("float64", 1e-12) if ON_TENSORFLOW else ("float32", 1e-5)
    model = make_pretrainer(dtype)
    loss, expected, start = step(model, SEPARATE, **EAGER)
    # Graphs are tested by fits elsewhere, and take long to trace.
    for options in (EAGER, {"jit_compile": True}) if ON_TENSORFLOW else ({},):
        packed_loss, received, _ = step(model, PACKED, **options)
        assert packed_loss == pytest.approx(loss, rel=1e-6)
        for before, one, other in zip(start, expected, received, strict=True):
            assert np.abs(one - before).max() > 0.0
            assert np.abs(other - one).max() < tolerance


def test_examples_of_a_row_do_not_see_each_other():
    pretrainer = make_pretrainer()
    features = {**PACKED[0]}
    before = pretrainer(features)
    others = features["sequence_ids"] != 2
    features["token_ids"] = np.where(others, 3, features["token_ids"])
    after = pretrainer(features)
    second = slice(6, 12)
    rows = [0, 2, 3, 4]
    for outputs in (before, after):
        outputs["mlm_logits"] = np.array(outputs["mlm_logits"])[rows, second]
        outputs["sop_logits"] = np.array(outputs["sop_logits"])[rows, 1]
    assert max_difference(after, before) == 0.0


@pytest.mark.slow
@needs_tensorflow
def test_one_result_however_called():
    pretrainer = make_pretrainer()
    features = PACKED[0]
    expected = pretrainer(features)
    for jit_compile in (False, True):
        called = tf.function(pretrainer, autograph=False, jit_compile=jit_compile)
        assert max_difference(called(features), expected) < 5e-6
    predicted = pretrainer.predict(features, batch_size=3, verbose=0)
    assert max_difference(predicted, expected) < 5e-6


@pytest.mark.slow
@needs_tensorflow
def test_trained_on_packed_rows_it_is_saved_as_an_ordinary_model(tmp_path):
    model = make_pretrainer()
    paths = [variable.path for variable in model.variables]
    _, after, _ = step(model, PACKED, **EAGER)
    model.set_weights(after)
    # The slots of the optimizer are no part of the model: a new one.
    model.compile()
    assert [variable.path for variable in model.variables] == paths
    assert set(model.input) == set(SEPARATE[0])

    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    model.save_to_preset(str(tmp_path / "preset"))
    with_weights = make_pretrainer()
    with_weights.load_weights(tmp_path / "model.weights.h5")
    for restored in (
        keras.saving.load_model(tmp_path / "model.keras"),
        AlbertPretrainer.from_preset(str(tmp_path / "preset"), preprocessor=None),
        with_weights,
    ):
        for features, _, _ in (SEPARATE, PACKED):
            assert max_difference(restored(features), model(features)) == 0.0


def test_without_pairs_there_are_no_pair_positions():
    model = make_pretrainer(num_pair_classes=0)
    assert set(model(PACKED[0])) == {"mlm_logits"}
    features = {n: v for n, v in PACKED[0].items() if n != "pair_positions"}
    assert max_difference(model(features), model(PACKED[0])) == 0.0
    expected = weighted_outputs(model, SEPARATE)
    assert max_difference(weighted_outputs(model, PACKED), expected) < 2e-6


@pytest.mark.parametrize("left_out", ["sequence_ids", "pair_positions"])
def test_half_of_the_features_is_refused(left_out):
    features = {n: v for n, v in PACKED[0].items() if n != left_out}
    given = "Received: features mask_positions, .* token_ids"
    with pytest.raises(ValueError, match=given) as error:
        make_pretrainer()(features)
    assert "must come with pair_positions and sequence_ids" in str(error.value)
