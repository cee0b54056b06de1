"""Conversion of TensorFlow Serving's JSON to arrays and back."""

import base64

import numpy as np

from albert_keras.checks import shown
from albert_keras.export.signatures import SERVING_SIGNATURE


def read_request(content, inputs_of):
    """Returns the signature, the arrays by name, and whether the request has rows.

    Args:
        content: Object of the request. `{"instances": [...]}` has rows, each a dict by
            name or the value of the only input; `{"inputs": ...}` has a dict of whole
            inputs, or the value of the only input. `signature_name` is optional. Other
            keys, such as `parameters`, are ignored, as by TensorFlow Serving.
        inputs_of: Function from a signature's name to a dict of `tf.TensorSpec` by name.

    Raises:
        ValueError: If the content has another form.

    Example:

    >>> import tensorflow as tf
    >>> specs = {"text": tf.TensorSpec((None,), tf.string)}
    >>> read_request({"instances": [{"text": "good"}]}, lambda signature: specs)
    ('serving_default', {'text': array([b'good'], dtype=object)}, True)

    Reference: TensorFlow Serving, RESTful API, "Predict API".
    """
    if not isinstance(content, dict):
        raise ValueError(f"A request must be an object. Received: {shown(content)}.")
    if ("instances" in content) == ("inputs" in content):
        raise ValueError(
            "A request must have either `instances` or `inputs`. Received: "
            f"{', '.join(content) or 'an empty object'}."
        )
    signature = content.get("signature_name", SERVING_SIGNATURE)
    if not isinstance(signature, str):
        received = shown(signature)
        raise ValueError(f"`signature_name` must be a string. Received: {received}.")
    specs = inputs_of(signature)
    is_row_wise = "instances" in content
    values = _columns(content["instances"], specs) if is_row_wise else content["inputs"]
    if not isinstance(values, dict) or _is_bytes(values):
        if len(specs) != 1:
            _refuse_names(specs, values)
        values = {name: values for name in specs}
    if set(values) != set(specs):
        _refuse_names(specs, list(values))
    arrays = {name: _as_array(name, values[name], specs[name]) for name in specs}
    return signature, arrays, is_row_wise


def encode_outputs(outputs, is_row_wise):
    """Returns the JSON object of a response.

    Strings that are not UTF-8 become `{"b64": ...}`. The name of an only output is left
    out.

    Args:
        outputs: Dict of arrays by name.
        is_row_wise: bool. Whether to return rows, in `predictions`.

    Example:

    >>> encode_outputs({"label": np.array([b"good"]), "score": np.array([0.5])}, True)
    {'predictions': [{'label': 'good', 'score': 0.5}]}
    """
    values = {name: _as_json(value.tolist()) for name, value in outputs.items()}
    if is_row_wise:
        rows = zip(*values.values(), strict=True)
        if len(values) == 1:
            return {"predictions": [row for (row,) in rows]}
        return {"predictions": [dict(zip(values, row, strict=True)) for row in rows]}
    if len(values) == 1:
        (values,) = values.values()
    return {"outputs": values}


def _columns(rows, specs):
    """Returns the values of each input over all rows."""
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"`instances` must be a list. Received: {shown(rows)}.")
    if not all(isinstance(row, dict) and not _is_bytes(row) for row in rows):
        return rows
    for row in rows:
        if set(row) != set(specs):
            _refuse_names(specs, list(row))
    return {name: [row[name] for row in rows] for name in specs}


def _refuse_names(specs, received):
    rule = f"The inputs must be {', '.join(sorted(specs))}, by name."
    raise ValueError(f"{rule} Received: {shown(received)}.")


def _is_bytes(value):
    return isinstance(value, dict) and set(value) == {"b64"}


def _as_array(name, value, spec):
    """Returns a value as an array of an input's type and shape."""
    is_text = spec.dtype.name == "string"
    try:
        array = np.array(_as_bytes(value) if is_text else value, dtype=object)
        if is_text:
            valid = all(isinstance(item, bytes) for item in array.flat)
        else:
            kinds = (int,) if spec.dtype.is_integer else (int, float)
            valid = all(type(item) in kinds for item in array.flat)
            array = array.astype(spec.dtype.as_numpy_dtype)
    except (ValueError, TypeError, OverflowError):
        valid = False
    if not valid or not spec.shape.is_compatible_with(array.shape):
        raise ValueError(
            f"`{name}` must be of type {spec.dtype.name} and shape {spec.shape}. "
            f"Received: {shown(value)}."
        )
    return array


def _as_bytes(value):
    """Returns nested lists with strings and `b64` objects as bytes; the rest as it is."""
    if isinstance(value, list):
        return [_as_bytes(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8")
    if _is_bytes(value) and isinstance(value["b64"], str):
        return base64.b64decode(value["b64"], validate=True)
    return value


def _as_json(value):
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"b64": base64.b64encode(value).decode("ascii")}
    return value
