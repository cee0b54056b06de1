"""Inference on single batches of any shape, compiled once, on any backend."""

import weakref

import keras
from keras import tree

# By model, so that repeated evaluations during training compile only once.
_FORWARDS = weakref.WeakKeyDictionary()


class RuntimeModel:
    """A model that another runtime computes, such as ONNX Runtime.

    Args:
        run: Function from a dict of NumPy arrays to arrays, as a Keras model gives them.
    """

    def __init__(self, run):
        self.run = run


def infer(model, features):
    """Returns a model's outputs for a batch, NumPy arrays, without dropout.

    Unlike `model.predict`, which joins the outputs of all batches in one array, it allows
    each batch another shape. Under a strategy of several devices it runs on one.

    Args:
        model: Keras model, or a function of features, which may compile itself; or a
            `RuntimeModel`.
        features: Dict of arrays `(batch, ...)`, with the same names, ranks and dtypes in
            every call.
    """
    if isinstance(model, RuntimeModel):
        return model.run(features)
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
