"""Counting of steps over epochs, resumes and several steps a call."""

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.training.steps import (
    StepCounter,
    spans_of_training,
    tokens_per_step,
)


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


def test_positions_of_full_batches():
    features = {"token_ids": np.zeros((17, 13)), "segment_ids": np.zeros((17, 13))}
    rows = tf.data.Dataset.from_tensor_slices((features, np.zeros(17)))
    assert tokens_per_step(rows.batch(6, drop_remainder=True)) == 6 * 13
    # The last batch may be smaller.
    assert tokens_per_step(rows.batch(6)) is None
    assert tokens_per_step(rows.batch(6), 2) is None
    assert tokens_per_step(rows.batch(6, drop_remainder=True), 2) == 12 * 13


@pytest.mark.parametrize("data", [np.zeros((6, 13)), np.zeros(5)], ids=["2d", "1d"])
def test_other_data_has_an_unknown_number_of_tokens(data):
    assert tokens_per_step(tf.data.Dataset.from_tensor_slices(data)) is None
    assert tokens_per_step([data]) is None
