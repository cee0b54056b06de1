"""Inference on single batches of any shape, compiled once, on all backends."""

import keras
from keras import tree


def infer(model, features):
    """Returns a model's outputs for a batch as NumPy arrays, without dropout.

    `model.predict` joins the outputs of all batches in one array. Here, each batch may
    have another shape.

    Args:
        model: Keras model, or a function (such as the model in another runtime).
        features: Dict of arrays `(batch, ...)`, with the same names, ranks and dtypes in
            every call.
    """
    if not isinstance(model, keras.Model):
        return tree.map_structure(keras.ops.convert_to_numpy, model(features))
    # Keras' own methods: those of this package would take the features for texts.
    if getattr(model, "num_replicas", 1) == 1:
        return keras.Model.predict_on_batch(model, features)
    # On a single batch, each replica would predict all rows.
    size = len(tree.flatten(features)[0])
    return keras.Model.predict(model, features, batch_size=size, verbose=0)
