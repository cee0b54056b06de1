"""Micro-batching of requests."""

import asyncio
import collections

import numpy as np


class MicroBatcher:
    """Joins requests that arrive at about the same time into one call of a function.

    If the model is idle, a request waits for others for at most `delay_s`. While the
    model runs, the next batch gathers. Only requests with the same `key` are joined;
    their arrays must have the same shapes except for the rows.

    Args:
        run: Function `(key, inputs)` from a dict of arrays to a dict of arrays with the
            same number of rows. It is called in a thread, one call at a time.
        max_rows: int. Maximum number of rows of a batch; a larger request runs alone.
        delay_s: float. Seconds that a request waits for others.
        max_waiting: int. Requests that may wait for the model; others are refused.
        observe: Function that is called with the number of rows of each batch.

    Example:

    ```python
    def run(key, inputs):
        return {key: classifier.predict(inputs["text"])}

    batcher = MicroBatcher(run, max_rows=32)
    inputs = {"text": np.array(["a charming journey"])}
    outputs = await batcher.submit("logits", inputs)
    ```
    """

    def __init__(self, run, max_rows=32, delay_s=0.001, max_waiting=1000, observe=None):
        self.run, self.max_rows, self.delay_s = run, max_rows, delay_s
        self.max_waiting, self.observe = max_waiting, observe or (lambda rows: None)
        self._waiting = collections.deque()
        self._worker = None

    async def submit(self, key, inputs):
        """Returns the outputs of a request, a dict of arrays.

        Raises:
            OverflowError: If too many requests wait.
        """
        if len(self._waiting) >= self.max_waiting:
            raise OverflowError(
                f"At most {self.max_waiting} requests may wait for the model. Try again."
            )
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append((key, inputs, answer))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._run_batches())
        return await answer

    async def _run_batches(self):
        while self._waiting:
            # The rows that could run with the oldest request.
            first = self._waiting[0][0]
            rows = [_num_rows(inputs) for k, inputs, _ in self._waiting if k == first]
            if sum(rows) < self.max_rows:
                await asyncio.sleep(self.delay_s)
            if batch := self._take():
                await self._answer(batch)

    def _take(self):
        """Removes the requests of the next batch from the waiting ones; returns them."""
        # The answer is cancelled if the client has closed the connection.
        waiting = [request for request in self._waiting if not request[-1].done()]
        batch, others, num_rows = [], collections.deque(), 0
        for request in waiting:
            key, inputs, _ = request
            fits = not batch or num_rows + _num_rows(inputs) <= self.max_rows
            if fits and key == waiting[0][0]:
                batch.append(request)
                num_rows += _num_rows(inputs)
            else:
                others.append(request)
        self._waiting = others
        return batch

    async def _answer(self, batch):
        key = batch[0][0]
        columns = [inputs for _, inputs, _ in batch]
        names = columns[0]
        joined = {name: np.concatenate([c[name] for c in columns]) for name in names}
        self.observe(_num_rows(joined))
        try:
            outputs = await asyncio.to_thread(self.run, key, joined)
        except Exception as error:
            # Run alone, the other requests succeed.
            for request in batch:
                if len(batch) > 1:
                    await self._answer([request])
                elif not request[-1].done():
                    request[-1].set_exception(error)
            return
        ends = np.cumsum([_num_rows(inputs) for inputs in columns])
        for (_, inputs, answer), end in zip(batch, ends, strict=True):
            if not answer.done():
                rows = slice(end - _num_rows(inputs), end)
                answer.set_result({name: x[rows] for name, x in outputs.items()})


def _num_rows(inputs):
    return len(next(iter(inputs.values())))
