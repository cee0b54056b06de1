"""Measurements in turn."""

import time

from albert_keras.analysis.interleaving import (
    measure_in_turn,
    medians,
    processor_seconds,
)


def test_each_round_takes_every_measurement_once():
    called = []
    numbers = iter([5.0, 40.0, 1.0, 20.0, 3.0, 30.0])

    def measurement(name):
        return lambda: called.append(name) or next(numbers)

    rounds = [*measure_in_turn({name: measurement(name) for name in "ab"}, 3)]
    assert called == list("ababab")
    assert medians(rounds) == {"a": 3.0, "b": 30.0}


def test_processor_time_is_not_that_of_waiting():
    assert processor_seconds(lambda: time.sleep(0.2)) < 0.1
    assert processor_seconds(lambda: sum(range(10**6))) > 0.001
