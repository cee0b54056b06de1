"""Checks of the data of `fit`, `evaluate` and `predict`, before Keras reads them."""

import keras
import numpy as np
from keras import tree

from albert_keras.models.cross_entropies import loss_of, takes_class_ids


def check_data(model, x, y=None):
    """Raises a ValueError if a model cannot take these data.

    Args:
        model: Task model, compiled or not.
        x: As `fit` takes it. Of a generator nothing is known before it is used.
        y: As `fit` takes it.
    """
    spec = getattr(x, "element_spec", None)
    if spec is not None:
        x = spec[0] if isinstance(spec, tuple) else spec
        _check_is_batched(model, x)
    elif isinstance(x, keras.utils.PyDataset) and model.preprocessor is None:
        x = unpack(x[0])[0]
    check_is_preprocessed(model, x)
    if isinstance(y, list) or hasattr(y, "__array__"):
        _check_class_ids(model, y)


def check_is_preprocessed(model, x):
    """Raises a ValueError if `x` is text and the model has no preprocessor."""
    if model.preprocessor is None and _is_text(x):
        name = getattr(
            model.preprocessor_cls, "__name__", "keras_hub.models.Preprocessor"
        )
        raise ValueError(
            f"A model without preprocessor must get token ids. Received: text for "
            f"{type(model).__name__}. Set `model.preprocessor = {name}(tokenizer)`, or "
            "load the model by `from_preset` from files with a vocabulary."
        )


def is_features(x):
    """Returns whether `x`, or each batch of a `tf.data.Dataset`, has token ids."""
    spec = getattr(x, "element_spec", None)
    if spec is not None:
        x = spec[0] if isinstance(spec, tuple) else spec
    return isinstance(x, dict) and "token_ids" in x


def unpack(data):
    """Returns the tuple `(x, y, sample_weight)`; a list of texts is `x`."""
    is_column = isinstance(data, list) and (
        len(data) not in (2, 3) or any(isinstance(part, str) for part in data)
    )
    return keras.utils.unpack_x_y_sample_weight((data,) if is_column else data)


def _is_text(x):
    if isinstance(x, dict | tuple):
        return any(map(_is_text, x.values() if isinstance(x, dict) else x))
    if isinstance(x, list):
        return bool(x) and _is_text(x[0])
    # The types of NumPy, pandas and TensorFlow: `<U5`, `|S5`, `object`, `string`, `str`.
    dtype = str(getattr(x, "dtype", ""))
    return isinstance(x, str | bytes) or any(
        word in dtype for word in ("<U", "|S", "object", "str")
    )


def _check_is_batched(model, spec):
    if is_features(spec):
        is_batched = not any(
            name in spec and spec[name].shape.rank == len(tensor.shape) - 1
            for name, tensor in model.input.items()
        )
    else:
        is_batched = all(leaf.shape.rank != 0 for leaf in tree.flatten(spec))
    if not is_batched:
        raise ValueError(
            "A dataset must give batches. Received: single rows, "
            f"{spec}. Pass `dataset.batch(32)`."
        )


def _check_class_ids(model, labels):
    """Checks the labels of a model with one class for each example."""
    is_one = not isinstance(model.output, dict) and len(model.output.shape) == 2
    loss = loss_of(model)
    if not is_one or not takes_class_ids(loss):
        return
    labels = np.asarray(labels)
    num_classes = model.output.shape[-1]
    rule = "Labels must be class ids, one integer for each example"
    if num_classes is not None:
        rule += f", from 0 to {num_classes - 1}"
    if labels.dtype.kind not in "iufb":
        received = str(labels.flat[0]) if labels.size else labels.dtype
        raise ValueError(f"{rule}. Received: {received!r}. Number the classes first.")
    if labels.ndim > 2 or labels.shape[1:] not in ((), (1,)):
        raise ValueError(
            f"{rule}. Received: y of shape {labels.shape}. For several classes an "
            'example, build the model with `activation="sigmoid"`; for one-hot labels '
            "pass a `keras.losses.CategoricalCrossentropy`."
        )
    is_class = (labels >= 0) & (labels < (num_classes or np.inf))
    wrong = labels[~is_class & (labels != getattr(loss, "ignore_class", None))]
    if wrong.size:
        raise ValueError(f"{rule}. Received: {wrong[0]}. See `num_classes`.")
