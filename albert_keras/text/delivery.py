"""Dataset options that every pipeline of batches ends with."""


def deliver(batches, num_batches):
    """Prepares a dataset of `num_batches` for `fit` under any `tf.distribute` strategy.

    Two batches are prefetched.
    """
    import tensorflow as tf

    options = tf.data.Options()
    # Where TensorFlow distributes to workers: rows of each batch, not files.
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    # The autotuner's thread sleeps for up to a minute, and deleting an iterator often
    # waits for it: ten seconds after a `fit` of ten seconds (TensorFlow 2.21). Without
    # it, parallel maps use all processor cores.
    options.autotune.enabled = False
    # Keras warns if a dataset of unknown cardinality ends.
    sized = tf.data.experimental.assert_cardinality(num_batches)
    return batches.apply(sized).with_options(options).prefetch(2)
