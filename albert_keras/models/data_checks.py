"""Checks of the data of `fit`, `evaluate` and `predict`, before Keras reads them."""

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import tree

from albert_keras.checks import is_number, shown
from albert_keras.models.classes import takes_class_ids


class Data(NamedTuple):
    """Checked data.

    Attributes:
        x: Rows in memory as columns, or batches.
        y: Labels, with class ids for names of classes, or `None`.
        sample_weight: Weights, or `None`.
        is_ready: bool. Whether `x` holds the model's inputs, rather than raw text.
        first_batch: First batch of a `keras.utils.PyDataset`, which is slow to read
            twice; else `None`.
    """

    x: Any
    y: Any = None
    sample_weight: Any = None
    is_ready: bool = False
    first_batch: Any = None


def check_data(model, x, y=None, sample_weight=None):
    """Returns the `Data` of `fit`, or raises a ValueError if the model cannot take them.

    A generator can only be checked when it is used.

    Args:
        model: Task model, compiled or not.
        x, y, sample_weight: As `fit` takes them.
    """
    if isinstance(x, str | bytes):
        raise ValueError(
            "`x` must have several rows, such as a list of texts. "
            f"Received: x={shown(x)}. For one text pass [text]."
        )
    if is_text(y) and model.export_spec().num_classes:
        y = _class_ids(model, y if isinstance(y, list) else np.asarray(y))
    # What tells the kind of data: the rows, a spec, or a first batch.
    inputs, first_batch = x, None
    if hasattr(x, "element_spec"):
        spec = x.element_spec
        inputs = spec[0] if isinstance(spec, tuple) else spec
        if not isinstance(x, keras.utils.PyDataset):
            _check_is_batched(model, inputs)
    elif isinstance(x, keras.utils.PyDataset):
        first_batch = x[0]
        inputs = unpack(first_batch)[0]
    check_is_preprocessed(model, inputs)
    is_ready = model.preprocessor is None or is_features(inputs)
    if not is_ready and is_in_memory(x):
        if hasattr(model.preprocessor, "columns"):
            x, y = model.preprocessor.columns(x, y, is_batch=False)
        if isinstance(x, list) and x and is_number(x[0]):
            raise ValueError(f"Each row must have a text. Received: x={shown(x)}.")
        inputs = x
    model.check_input(inputs)
    if isinstance(y, list) or hasattr(y, "__array__"):
        _check_class_ids(model, y, is_text(inputs))
    return Data(x, y, sample_weight, is_ready, first_batch)


def check_is_preprocessed(model, x):
    """Raises a ValueError if `x` is text and the model has no preprocessor."""
    if model.preprocessor is None and is_text(x):
        name = getattr(
            model.preprocessor_cls, "__name__", "keras_hub.models.Preprocessor"
        )
        raise ValueError(
            f"A model without preprocessor must get token ids. Received: text for "
            f"{type(model).__name__}. Set `model.preprocessor = {name}(tokenizer)`, or "
            "load the model by `from_preset` from files with a vocabulary."
        )


def is_features(x):
    """Returns whether a batch, or its spec, holds token ids rather than text."""
    return isinstance(x, dict) and "token_ids" in x


def is_in_memory(x):
    """Returns whether data are rows in memory, rather than a dataset or a generator."""
    is_column = hasattr(x, "__array__") or hasattr(x, "to_list")
    return is_column or isinstance(x, list | tuple | dict)


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
    rule = "Labels must be class ids, or names among the model's `labels`"
    if model.labels is None:
        raise ValueError(
            f"{rule}, but it has none. Received: {labels!r}. Number the classes first."
        )
    if labels not in model.labels:
        names = ", ".join(model.labels)
        raise ValueError(f"{rule}: {names}. Received: {shown(labels)}.")
    if not takes_class_ids(getattr(model, "loss", None)):
        raise ValueError(
            f"Labels must be numbers, as the loss takes them. Received: {labels!r} and "
            f"the loss {model.loss}."
        )
    return model.labels.index(labels)


def _check_is_batched(model, spec):
    single = [leaf.shape.rank == 0 for leaf in tree.flatten(spec)]
    if is_features(spec):
        ranks = {name: len(tensor.shape) for name, tensor in model.input.items()}
        single = [spec[n].shape.rank == ranks[n] - 1 for n in ranks if n in spec]
    if any(single):
        raise ValueError(
            f"A dataset must give batches. Received: single rows, {spec}. Pass "
            "`dataset.batch(32)`."
        )


def _check_class_ids(model, labels, of_text):
    """Checks the labels of a model with one class for each example, or each word."""
    loss = getattr(model, "loss", None)
    if isinstance(model.output, dict) or not takes_class_ids(loss):
        return
    num_classes = model.output.shape[-1]
    rule = "Labels must be class ids, one integer for each example"
    if len(model.output.shape) == 3:
        if not of_text:
            # Positions without weight may have any label.
            return
        rule = "Labels must be class ids, one integer for each word"
        labels = np.concatenate([[], *map(np.ravel, labels)])
    labels = np.asarray(labels)
    if num_classes is not None:
        rule += f", from 0 to {num_classes - 1}"
    if labels.dtype.kind not in "iufb":
        received = str(labels.flat[0]) if labels.size else labels.dtype
        raise ValueError(f"{rule}. Received: {received!r}.")
    if labels.ndim > 2 or labels.shape[1:] not in ((), (1,)):
        raise ValueError(
            f"{rule}. Received: y of shape {labels.shape}. For several classes an "
            'example, build the model with `activation="sigmoid"`; for one-hot labels '
            "pass a `keras.losses.CategoricalCrossentropy`."
        )
    is_class = (labels >= 0) & (labels < (num_classes or np.inf))
    wrong = labels[~is_class & (labels != getattr(loss, "ignore_class", None))]
    if wrong.size:
        raise ValueError(f"{rule}. Received: {wrong[0]:g}. See `num_classes`.")
