"""The last step of each pipeline: batches as `model.fit` and strategies want them."""


def deliver(batches, num_batches):
    """Makes batches ready for `model.fit`, under any `tf.distribute` strategy.

    Args:
        batches: `tf.data.Dataset`.
        num_batches: int. How many there are; `tf.data.INFINITE_CARDINALITY` for an
            endless dataset.

    Returns:
        `tf.data.Dataset` of the same batches, which prepares the next two meanwhile.
    """
    import tensorflow as tf

    options = tf.data.Options()
    # Where TensorFlow deals them out to workers: rows of each batch, not files.
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    # TensorFlow's tuner of pipelines sleeps for twice as long each time, up to a minute,
    # and an iterator that is given up often waits for it: the end of a `fit` of ten
    # seconds for another ten (seen on 2.21). Without it, what is left to tune gets all
    # processor cores.
    options.autotune.enabled = False
    # Keras warns of a dataset that ends without having said when.
    sized = tf.data.experimental.assert_cardinality(num_batches)
    return batches.apply(sized).with_options(options).prefetch(2)
