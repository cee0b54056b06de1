"""Inference on single batches of any shape, compiled once, on any backend."""

import inspect
import weakref

import keras
from keras import tree

# By model, so that repeated evaluations during training compile only once.
_FORWARDS = weakref.WeakKeyDictionary()


def infer(model, features):
    """Returns a model's outputs for a batch, NumPy arrays, without dropout.

    Unlike `model.predict`, which joins the outputs of all batches in one array, it allows
    each batch another shape. Under a strategy of several devices it runs on one.

    Args:
        model: Keras model, or an object that is called like one; or a function of NumPy
            arrays, such as another runtime's, which is not compiled.
        features: Dict of arrays `(batch, ...)`, with the same names, ranks and dtypes in
            every call.
    """
    if inspect.isfunction(model):
        return model(features)
    if model not in _FORWARDS:
        _FORWARDS[model] = _make_forward(weakref.proxy(model), features)
    outputs = _FORWARDS[model](features)
    return tree.map_structure(keras.ops.convert_to_numpy, outputs)


def _make_forward(model, features):
    if keras.config.backend() != "tensorflow":
        if not isinstance(model, keras.Model):
            return model
        # The method of Keras: keras-hub's would preprocess the features as text.
        return lambda features: keras.Model.predict_on_batch(model, features)
    import tensorflow as tf

    # Without a signature, TensorFlow traces three times to find the axes that vary.
    signature = {
        name: tf.TensorSpec([None] * array.ndim, array.dtype)
        for name, array in features.items()
    }

    @tf.function(input_signature=[signature], autograph=False)
    def forward(features):
        return model(features, training=False)

    return forward
