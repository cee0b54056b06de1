"""Inference on single batches of any shape, compiled once, on all backends."""

import inspect
import weakref

import keras
from keras import tree

# By model, so repeated evaluations during training compile only once.
_FORWARDS = weakref.WeakKeyDictionary()


def infer(model, features):
    """Returns a model's outputs for a batch as NumPy arrays, without dropout.

    `model.predict` joins the outputs of all batches in one array. Here, each batch may
    have another shape. With a strategy of several devices, one device is used.

    Args:
        model: Keras model, or a callable object; or a function of NumPy arrays (such as
            the model in another runtime), which is not compiled.
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
        # Keras' own method: keras-hub's would preprocess the features as text.
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
