"""Dropout draws: seeded, other ones each time, kept when a layer is recomputed."""

import keras
import numpy as np

from albert_keras.layers.seeds import DrawnSeed, Dropout, ReplicaSeedGenerator

# That replicas draw apart is held in tests/train_step, where there are replicas.


def test_one_replica_draws_as_keras_does():
    ours, theirs = ReplicaSeedGenerator(5), keras.random.SeedGenerator(5)
    for _ in range(3):
        assert np.array_equal(ours.next(), theirs.next())


def test_drawn_seed_repeats_itself():
    seed = DrawnSeed(ReplicaSeedGenerator(6).next())
    first, second = (keras.random.uniform((7,), seed=seed) for _ in range(2))
    assert np.array_equal(first, second)


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
