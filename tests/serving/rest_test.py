"""JSON of requests, batches of requests, and the model that answers them."""

import asyncio
import base64

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.export import export_saved_model
from albert_keras.models import AlbertTextClassifier
from albert_keras.serving import MicroBatcher, ServedModel
from albert_keras.serving.rest import encode_outputs, read_request
from tests.tasks.task_checks import make_backbone

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
        ([], "must be an object"),
        ({"parameters": {}}, "either `instances` or `inputs`. Received: parameters"),
        ({}, "either `instances` or `inputs`. Received: an empty object"),
        ({"instances": ["a"], "inputs": ["a"]}, "either `instances` or `inputs`"),
        ({"signature_name": 3, "inputs": ["a"]}, "`signature_name` must be a string"),
        ({"instances": []}, "`instances` must be a list"),
        (
            {"instances": [{"text": "a"}, {"txt": "a"}]},
            r"must be text, by name. Received: \['txt'",
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


# === Requests that arrive together are one batch ===


class Doubler:
    """Doubles numbers, and counts its calls; 13 is refused."""

    def __init__(self):
        self.calls = []

    def __call__(self, key, inputs):
        self.calls.append((key, inputs["x"].tolist()))
        if 13 in inputs["x"]:
            raise ValueError("13")
        return {"y": 2 * inputs["x"]}


def answers(requests, run, **options):
    """Submits all requests `(key, numbers)` at once; returns lists, or exceptions."""

    async def submit(batcher, key, numbers):
        outputs = await batcher.submit(key, {"x": np.array(numbers)})
        return outputs["y"].tolist()

    async def all_of_them():
        batcher = MicroBatcher(run, delay_s=0.01, **options)
        calls = (submit(batcher, *request) for request in requests)
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(all_of_them())


def test_requests_are_joined_by_key_up_to_the_rows_of_a_batch():
    run, rows = Doubler(), []
    requests = [("a", [1, 2]), ("b", [3]), ("a", [4]), ("a", [5, 6, 7]), ("a", [8] * 9)]
    found = answers(requests, run, max_rows=5, observe=rows.append)
    assert found == [[2, 4], [6], [8], [10, 12, 14], [16] * 9]
    expected = [("a", [1, 2, 4]), ("b", [3]), ("a", [5, 6, 7]), ("a", [8] * 9)]
    assert run.calls == expected
    assert rows == [3, 1, 3, 9]


def test_one_bad_request_does_not_spoil_the_others():
    found = answers([("a", [1]), ("a", [13]), ("a", [2])], Doubler(), max_rows=7)
    assert found[0] == [2]
    assert found[2] == [4]
    with pytest.raises(ValueError, match="13"):
        raise found[1]


def test_too_many_requests_are_refused():
    found = answers([("a", [1]), ("a", [2]), ("a", [3])], Doubler(), max_waiting=2)
    assert found[:2] == [[2], [4]]
    with pytest.raises(OverflowError, match="At most 2 requests may wait"):
        raise found[2]


def test_a_request_that_gave_up_is_not_run():
    run = Doubler()

    async def give_up():
        batcher = MicroBatcher(run, delay_s=0.05)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await batcher.submit("a", {"x": np.array([3])})
        return await batcher.submit("a", {"x": np.array([5])})

    assert asyncio.run(give_up())["y"].tolist() == [10]
    assert run.calls == [("a", [5])]


# === Names, versions and errors of a model to serve; `server_test.py` asks one ===


def test_a_folder_without_a_version_is_refused(tmp_path):
    (tmp_path / "reviews" / "3").mkdir(parents=True)
    with pytest.raises(
        ValueError, match="or a folder of versions .*Received: '.*views'"
    ):
        ServedModel(tmp_path / "reviews")


def test_a_model_of_ids_under_its_own_name(tmp_path):
    export_saved_model(AlbertTextClassifier(make_backbone(), 3), tmp_path / "ids")
    model = ServedModel(tmp_path / "ids")
    assert (model.name, model.version) == ("ids", "1")
    assert set(model.inputs("serving_default")) == {
        *("token_ids", "segment_ids", "padding_mask")
    }
    with pytest.raises(ValueError, match="must be one of serving_default. Received: "):
        model.inputs("mine")
    ids = {name: [[1, 1, 0]] for name in model.inputs("serving_default")}
    assert model.predict(ids)["logits"].shape == (1, 3)
    # 437 pieces.
    with pytest.raises(
        ValueError, match=r"^indices\[0,1\] = 437 is not in \[0, 437\)$"
    ):
        model.predict(ids | {"token_ids": [[2, 437, 3]]})
