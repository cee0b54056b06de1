import numpy as np
import tensorflow as tf

from albert_keras.text.delivery import deliver


def test_batches_and_cardinality():
    batches = tf.data.Dataset.range(23).filter(lambda x: x % 2 == 0).batch(5)
    delivered = deliver(batches, 3)
    assert delivered.cardinality() == 3
    np.testing.assert_array_equal(
        np.concatenate([*delivered.as_numpy_iterator()]), np.arange(0, 23, 2)
    )


def test_infinite_cardinality():
    counter = tf.data.Dataset.counter()
    delivered = deliver(counter, tf.data.INFINITE_CARDINALITY)
    assert delivered.cardinality() == tf.data.INFINITE_CARDINALITY


def test_options():
    options = deliver(tf.data.Dataset.range(7), 7).options()
    policy = options.experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.DATA
    # Only an option: whether an iterator must wait for the tuner is a matter of luck.
    assert options.autotune.enabled is False
