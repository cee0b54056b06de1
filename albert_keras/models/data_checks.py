"""Checks of the data of `fit`, `evaluate` and `predict`, before Keras reads them."""

import keras
import numpy as np
from keras import tree

from albert_keras.checks import shown
from albert_keras.models.classes import takes_class_ids


def check_data(model, x, y=None, sample_weight=None):
    """Returns data for `fit` with rows as columns and class ids for names of classes.

    A generator can only be checked when it is used.

    Args:
        model: Task model, compiled or not.
        x, y, sample_weight: As `fit` takes them.

    Raises:
        ValueError: If the model cannot take the data.
    """
    if isinstance(x, str | bytes):
        raise ValueError(
            "`x` must have several rows, such as a list of texts. "
            f"Received: x={shown(x)}. For one text pass [text]."
        )
    if is_text(y) and model.export_spec().num_classes:
        y = _class_ids(model, y if isinstance(y, list) else np.asarray(y))
    inputs = _inputs_of(x)
    if model.preprocessor is None and isinstance(inputs, keras.utils.PyDataset):
        inputs, *_ = unpack(x[0])
    check_is_preprocessed(model, inputs)
    if holds_rows(model, x):
        if hasattr(model.preprocessor, "columns"):
            x, y = model.preprocessor.columns(x, y, is_batch=False)
        inputs = x
    if isinstance(y, list) or hasattr(y, "__array__"):
        _check_class_ids(model, y, is_text(inputs))
    return x, y, sample_weight


def _inputs_of(x):
    """Returns what shows the kind of data: the spec of a dataset's inputs, or `x`."""
    if not hasattr(x, "element_spec"):
        return x
    spec = x.element_spec
    shapes = [getattr(leaf, "shape", None) for leaf in tree.flatten(spec)]
    if any(getattr(shape, "rank", None) == 0 for shape in shapes):
        raise ValueError(
            f"A dataset must give batches. Received: single rows, {spec}. Pass "
            "`dataset.batch(32)`."
        )
    return spec[0] if isinstance(spec, tuple) else spec


def check_is_preprocessed(model, x):
    """Raises a ValueError if `x` is text and the model has no preprocessor."""
    if model.preprocessor is None and is_text(x):
        raise ValueError(
            "A model without preprocessor must get token ids. Received: text for "
            f"{type(model).__name__}. Set `model.preprocessor`, or load the model by "
            "`from_preset` from files with a vocabulary."
        )


def is_features(x):
    """Returns whether a batch, or its spec, holds token ids rather than text."""
    return isinstance(x, dict) and "token_ids" in x


def is_ready(model, x):
    """Returns whether data hold the model's inputs, rather than text."""
    return model.preprocessor is None or is_features(_inputs_of(x))


def holds_rows(model, x):
    """Returns whether data are rows of text in memory, not a dataset or a generator."""
    is_column = hasattr(x, "__array__") or hasattr(x, "to_list")
    is_in_memory = is_column or isinstance(x, list | tuple | dict)
    return is_in_memory and not is_ready(model, x)


def is_text(x):
    """Returns whether `x` is text, judged by its first row or its dtype."""
    if isinstance(x, dict | tuple):
        return any(map(is_text, x.values() if isinstance(x, dict) else x))
    if isinstance(x, list):
        return bool(x) and is_text(x[0])
    # The types of NumPy, pandas and TensorFlow: `<U5`, `|S5`, `object`, `string`, `str`.
    dtype = str(getattr(x, "dtype", ""))
    return isinstance(x, str | bytes) or any(
        word in dtype for word in ("<U", "|S", "object", "str")
    )


def unpack(data):
    """Returns the tuple `(x, y, sample_weight)`; a list of texts is `x`."""
    is_column = isinstance(data, list) and (
        len(data) not in (2, 3) or any(isinstance(part, str) for part in data)
    )
    return keras.utils.unpack_x_y_sample_weight((data,) if is_column else data)


def _class_ids(model, labels):
    """Returns class ids for names of classes, in lists of any depth."""
    if isinstance(labels, list | tuple | np.ndarray):
        return [_class_ids(model, label) for label in labels]
    if not isinstance(labels, str):
        return labels
    loss, names = getattr(model, "loss", None), model.labels or ()
    if labels not in names or not takes_class_ids(loss):
        raise ValueError(
            "Labels must be class ids, or names among the model's `labels` if the loss "
            f"takes class ids. Received: {shown(labels)}, labels={', '.join(names)}, "
            f"loss={loss}. Number the classes."
        )
    return names.index(labels)


def _check_class_ids(model, labels, of_text):
    """Checks the labels of a model with one class for each example, or each word."""
    loss = getattr(model, "loss", None)
    if isinstance(model.output, dict) or not takes_class_ids(loss):
        return
    num_classes = model.output.shape[-1]
    rule = "Labels must be class ids, one integer for each example or word"
    if len(model.output.shape) == 3:
        if not of_text:
            # Positions without weight may have any label.
            return
        labels = np.concatenate([[], *map(np.ravel, labels)])
    labels = np.asarray(labels)
    if num_classes is not None:
        rule += f", from 0 to {num_classes - 1}"
    if labels.dtype.kind not in "iufb" or labels.shape[1:] not in ((), (1,)):
        raise ValueError(
            f"{rule}. Received: y of shape {labels.shape} and type {labels.dtype}. For "
            'several classes an example, build the model with `activation="sigmoid"`; '
            "for one-hot labels pass a `keras.losses.CategoricalCrossentropy`."
        )
    is_class = (labels >= 0) & (labels < (num_classes or np.inf))
    wrong = labels[~is_class & (labels != getattr(loss, "ignore_class", None))]
    if wrong.size:
        raise ValueError(f"{rule}. Received: {wrong[0]:g}. See `num_classes`.")
