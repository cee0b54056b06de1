"""Counting of steps over epochs, resumes and several steps a call."""

import pytest

from albert_keras.training.steps import StepCounter, spans_of_training


class Recorder(StepCounter):
    def __init__(self, initial_step):
        super().__init__(initial_step)
        self.seen = []

    def on_steps_end(self, logs):
        self.seen.append((self.step, self.has_passed(5)))


def test_steps_of_resumed_epochs_several_a_call():
    counter = Recorder(7)
    # The last three steps of an epoch, one a call, then six steps, three a call.
    for epoch, batches in enumerate([[0, 1, 2], [2, 5]]):
        counter.on_epoch_begin(epoch)
        for batch in batches:
            counter.on_train_batch_end(batch)
    assert counter.seen == [(8, 0), (9, 0), (10, 1), (13, 0), (16, 1)]


@pytest.mark.parametrize("num_steps", [1, 5, 6, 11, 12, 29])
@pytest.mark.parametrize("interval", [1, 5, 7, 30])
def test_parts_end_with_the_intervals(num_steps, interval):
    for begin in range(num_steps + 1):
        spans = spans_of_training(begin, num_steps, interval)
        ends = [begin]
        for step, length, parts in spans:
            assert step == ends[-1]
            ends += [step + length * (part + 1) for part in range(parts)]
        expected = {s for s in range(begin + 1, num_steps) if s % interval == 0}
        assert ends == sorted({begin, num_steps, *expected})
        assert len(spans) <= 3
