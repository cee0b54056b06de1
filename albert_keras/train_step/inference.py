"""Outputs of a model for one batch, compiled once, of any shape and on any backend."""

import weakref

import keras
from keras import tree

# By model, so that evaluations during a training compile only once.
_FORWARDS = weakref.WeakKeyDictionary()


def infer(model, features):
    """Returns a model's outputs for a batch, without dropout.

    Unlike `model.predict` it takes batches of one shape after another, whose outputs no
    array could hold together. Under a strategy of several devices it runs on one.

    Args:
        model: Keras model.
        features: Dict of arrays `(batch, ...)`, of the same names, numbers of axes and
            dtypes at every call.

    Returns:
        NumPy array, or a dict of them, `(batch, ...)`.
    """
    if model not in _FORWARDS:
        _FORWARDS[model] = _make_forward(weakref.proxy(model), features)
    outputs = _FORWARDS[model](features)
    return tree.map_structure(keras.ops.convert_to_numpy, outputs)


def _make_forward(model, features):
    if keras.config.backend() != "tensorflow":
        # Keras' own: keras-hub's takes features for texts to be preprocessed.
        return lambda features: keras.Model.predict_on_batch(model, features)
    import tensorflow as tf

    # Stated, since TensorFlow would find out in three tracings which axes vary.
    signature = {
        name: tf.TensorSpec([None] * array.ndim, array.dtype)
        for name, array in features.items()
    }

    @tf.function(input_signature=[signature], autograph=False)
    def forward(features):
        return model(features, training=False)

    return forward
