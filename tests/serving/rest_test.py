"""JSON of requests and responses."""

import base64

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.serving.rest import encode_outputs, read_request

TEXT = {"text": tf.TensorSpec((None,), tf.string)}
IDS = {
    "token_ids": tf.TensorSpec((None, None), tf.int32),
    "threshold": tf.TensorSpec((), tf.float32),
}


def read(content, specs=TEXT):
    signature, arrays, is_row_wise = read_request(content, lambda name: specs)
    return signature, {name: x.tolist() for name, x in arrays.items()}, is_row_wise


def test_every_form_of_a_request():
    expected = {"text": ["é".encode(), b"b"]}
    row_wise = ("serving_default", expected, True)
    assert read({"instances": [{"text": "é"}, {"text": "b"}]}) == row_wise
    # Of a signature with one input its name may be left out.
    assert read({"instances": ["é", "b"]}) == row_wise
    # What TensorFlow Serving ignores, Vertex AI sends.
    assert read({"instances": ["é", "b"], "parameters": {}, "id": 3}) == row_wise
    column_wise = ("mine", expected, False)
    assert read({"signature_name": "mine", "inputs": ["é", "b"]}) == column_wise
    encoded = {"b64": base64.b64encode(b"b").decode()}
    content = {"signature_name": "mine", "inputs": {"text": ["é", encoded]}}
    assert read(content) == column_wise
    values = {"token_ids": [[2, 3, 5], [2, 7, 3]], "threshold": 0.5}
    assert read({"inputs": values}, IDS) == ("serving_default", values, False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "must be a JSON object"),
        ({"parameters": {}}, "either `instances` or `inputs`. Received: parameters"),
        ({}, "either `instances` or `inputs`. Received: an empty object"),
        ({"instances": ["a"], "inputs": ["a"]}, "either `instances` or `inputs`"),
        ({"signature_name": 3, "inputs": ["a"]}, "`signature_name` must be a string"),
        ({"instances": []}, "`instances` must be a list of rows"),
        ({"instances": [{"text": "a"}, {"txt": "a"}]}, "must have the same names"),
        (
            {"instances": [{"words": "a"}]},
            r"must be text, by name. Received: \['words'",
        ),
        ({"inputs": {"text": "a"}}, "`text` must be of type string and shape"),
        ({"inputs": {"text": [3]}}, "`text` must be of type string"),
        ({"inputs": {"text": [["a"], "b"]}}, "`text` must be of type string"),
        ({"inputs": {"text": ["\ud800"]}}, "`text` must be of type string"),
        ({"inputs": {"text": [{"b64": "*"}]}}, "`text` must be of type string"),
    ],
)
def test_wrong_requests(content, message):
    with pytest.raises(ValueError, match=message):
        read(content)


@pytest.mark.parametrize("ids", [[[2, 3], [2]], [[2.5]], [[True]], [[2**31]], [["2"]]])
def test_wrong_ids(ids):
    with pytest.raises(ValueError, match="`token_ids` must be of type int32"):
        read({"inputs": {"token_ids": ids, "threshold": 0.5}}, IDS)


def test_outputs_by_row_and_by_column():
    logits, labels = np.array([[0.5, 2.0], [1.0, -3.0]]), np.array([b"ja", b"\xff"])
    encoded = {"b64": "/w=="}
    outputs = {"logits": logits, "label": labels}
    assert encode_outputs(outputs, True) == {
        "predictions": [
            {"logits": [0.5, 2.0], "label": "ja"},
            {"logits": [1.0, -3.0], "label": encoded},
        ]
    }
    columns = {"logits": logits.tolist(), "label": ["ja", encoded]}
    assert encode_outputs(outputs, False) == {"outputs": columns}
    assert encode_outputs({"logits": logits}, True) == {"predictions": logits.tolist()}
    assert encode_outputs({"logits": logits}, False) == {"outputs": logits.tolist()}
