"""Requests that arrive together are one batch."""

import asyncio

import numpy as np
import pytest

from albert_keras.serving.batching import MicroBatcher


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
        async with MicroBatcher(run, delay_s=0.01, **options) as batcher:
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
        async with MicroBatcher(run, delay_s=0.05) as batcher:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await batcher.submit("a", {"x": np.array([3])})
            return await batcher.submit("a", {"x": np.array([5])})

    assert asyncio.run(give_up())["y"].tolist() == [10]
    assert run.calls == [("a", [5])]
