"""Batches of Python code as datasets: order, spec, early ends, and errors."""

import itertools
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.text.delivery import ArrayBatches, deliver

SPEC = {"numbers": keras.KerasTensor((None,), "int32")}


def batches_from(skipped, num_batches=5):
    for number in range(skipped, num_batches):
        yield {"numbers": np.arange(3 * number, 3 * number + 3, dtype=np.int32)}


def numbers_of(batches):
    return [np.asarray(batch["numbers"]).tolist() for batch in batches]


@pytest.fixture(params=[deliver, ArrayBatches], ids=["TensorFlow", "other backends"])
def make_dataset(request):
    return request.param


def test_batches_and_their_number(make_dataset):
    dataset = make_dataset(batches_from, SPEC, 5)
    expected = [[3 * n, 3 * n + 1, 3 * n + 2] for n in range(5)]
    assert numbers_of(dataset) == numbers_of(dataset) == expected
    assert tuple(dataset.element_spec["numbers"].shape) == (None,)


def test_batches_without_end(make_dataset):
    def endless(skipped):
        return ({"numbers": np.array([n], np.int32)} for n in itertools.count(skipped))

    dataset = make_dataset(endless, SPEC, None)
    assert numbers_of(itertools.islice(dataset, 9)) == [[n] for n in range(9)]


def test_number_of_batches():
    assert deliver(batches_from, SPEC, 5).cardinality() == 5
    assert deliver(batches_from, SPEC).cardinality() == tf.data.INFINITE_CARDINALITY
    assert ArrayBatches(batches_from, SPEC, 5).num_batches == 5
    assert ArrayBatches(batches_from, SPEC, None).num_batches is None


def test_options():
    options = deliver(batches_from, SPEC, 5).options()
    # Only an option: whether an iterator must wait for the tuner is a matter of luck.
    assert options.autotune.enabled is False


def test_any_batch_can_be_the_next():
    batches = ArrayBatches(batches_from, SPEC, 5)
    found = numbers_of(batches[number] for number in (3, 4, 0, 1, 4))
    assert [first for first, *_ in found] == [9, 12, 0, 3, 12]


def test_a_thread_makes_batches_ahead_and_ends():
    made, main = [], threading.get_ident()

    def watched(skipped):
        for batch in batches_from(skipped):
            made.append(threading.get_ident())
            yield batch

    batches = ArrayBatches(watched, SPEC, 5)
    assert len([batches[0], batches[1]]) == 2
    before = threading.active_count()
    del batches
    assert threading.active_count() == before - 1
    assert 2 < len(made) <= 4
    assert main not in made


def test_an_error_reaches_the_reader():
    def broken(skipped):
        yield from batches_from(skipped, 2)
        raise ValueError("A store must be whole.")

    batches = iter(ArrayBatches(broken, SPEC, 5))
    assert len([next(batches), next(batches)]) == 2
    with pytest.raises(ValueError, match="must be whole"):
        next(batches)
