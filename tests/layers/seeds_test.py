"""Dropout draws: seeded, other ones each time, kept when a layer is recomputed."""

import keras
import numpy as np

from albert_keras.layers.seeds import (
    Dropout,
    ReplicaSeedGenerator,
    dropout_with_seed,
)

# That replicas draw apart is held in tests/train_step, where there are replicas.


def test_one_replica_draws_as_keras_does():
    ours, theirs = ReplicaSeedGenerator(5), keras.random.SeedGenerator(5)
    for _ in range(3):
        assert np.array_equal(ours.next(), theirs.next())


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


def test_drawn_seed_drops_as_keras_own_generator():
    x = np.ones((11, 17), "float32")
    ours = dropout_with_seed(x, 0.4, ReplicaSeedGenerator(8).draw(1)[0])
    theirs = keras.random.dropout(x, 0.4, seed=keras.random.SeedGenerator(8))
    assert np.array_equal(ours, theirs)


def test_dropout_is_seeded_and_changes_from_call_to_call():
    x = np.ones((11, 17), "float32")
    one, other = Dropout(0.4, seed=3), Dropout(0.4, seed=3)
    first = np.array(one(x, training=True))
    assert np.array_equal(first, other(x, training=True))
    assert not np.array_equal(first, one(x, training=True))
    assert np.array_equal(x, one(x, training=False))
    assert set(np.unique(first)) == {np.float32(0.0), np.float32(1 / 0.6)}


def test_dropout_keeps_one_generator_and_its_configuration():
    layer = Dropout(0.3, seed=4)
    assert len(layer.variables) == 1
    again = Dropout.from_config(layer.get_config())
    assert (again.rate, again.seed) == (0.3, 4)
    assert Dropout(0.0).variables == []
