"""What layers take from their config, and seeds of their dropout."""

import keras
import numpy as np
import pytest

from albert_keras.layers.configured import ConfiguredLayer
from albert_keras.layers.heads import ChoicesToRows, RowsToChoices
from albert_keras.layers.seeds import Dropout, ReplicaSeedGenerator, dropout_with_seed
from tests.helpers import make_config


def test_dense_has_the_initializer_and_dtype_of_its_layer():
    config = make_config(initializer_range=0.014)
    dense = ConfiguredLayer(config, dtype="mixed_bfloat16").dense(300, "wide")
    dense.build((None, 400))
    kernel = keras.ops.convert_to_numpy(dense.kernel)
    # A normal cut at two standard deviations has 0.8796 of its deviation left.
    assert kernel.std() == pytest.approx(0.014 * 0.8796, rel=0.02)
    assert np.abs(kernel).max() <= 0.028
    assert not keras.ops.convert_to_numpy(dense.bias).any()
    assert dense.name == "wide"
    assert dense.compute_dtype == "bfloat16"


def test_unknown_key_in_a_saved_config_is_refused():
    with pytest.raises(ValueError, match="unexpected keyword argument 'depth'"):
        ConfiguredLayer({**make_config().to_dict(), "depth": 3})


# === Choices become rows and rows choices, in their order ===


def test_there_and_back():
    choices = np.arange(2 * 3 * 5).reshape(2, 3, 5)
    rows = np.array(ChoicesToRows()(choices))
    assert rows.tolist() == [row for example in choices.tolist() for row in example]
    scores = np.array(RowsToChoices()(rows[:, :1].astype("float32"), choices))
    assert scores.tolist() == choices[:, :, 0].tolist()


# === Dropout draws: seeded, other ones each time, kept when a layer is recomputed ===


def test_seeds_drawn_at_once_are_those_drawn_one_by_one():
    at_once, one_by_one = ReplicaSeedGenerator(5), ReplicaSeedGenerator(5)
    for num_seeds in (3, 1, 4):
        seeds = np.array(at_once.draw(num_seeds))
        assert seeds.shape == (num_seeds, 2)
        for seed in seeds:
            assert np.array_equal(seed, one_by_one.next())
    assert np.array_equal(at_once.next(), one_by_one.next())


def test_drawn_seed_drops_the_same_places_again():
    x = np.ones((11, 17), "float32")
    seeds = ReplicaSeedGenerator(6).draw(2)
    first, again, other = (
        np.array(dropout_with_seed(x, 0.4, seeds[index])) for index in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert set(np.unique(first)) == {np.float32(0.0), np.float32(1 / 0.6)}
    # 187 places: three standard deviations are 0.11.
    assert abs((first == 0).mean() - 0.4) < 0.11


def test_dropout_is_seeded_and_changes_from_call_to_call():
    x = np.ones((11, 17), "float32")
    one, other = Dropout(0.4, seed=3), Dropout(0.4, seed=3)
    first = np.array(one(x, training=True))
    assert np.array_equal(first, other(x, training=True))
    assert not np.array_equal(first, one(x, training=True))
    assert np.array_equal(x, one(x, training=False))
    assert set(np.unique(first)) == {np.float32(0.0), np.float32(1 / 0.6)}
