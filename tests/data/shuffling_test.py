"""External shuffling: a permutation, fixed by the keys alone."""

import numpy as np
import pytest

from albert_keras.data.shuffling import (
    example_dtype,
    gather_shard,
    scatter_examples,
)

NUM_EXAMPLES, NUM_SHARDS = 2_000, 7


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return {
        "number": np.arange(NUM_EXAMPLES, dtype=np.int32),
        "row": rng.integers(0, 100, size=(NUM_EXAMPLES, 3)).astype(np.int16),
        "shuffle_key": rng.bit_generator.random_raw(NUM_EXAMPLES),
    }


def shuffle(arrays, folder, order, num_parts):
    folder.mkdir()
    for part in np.array_split(order, num_parts):
        taken = {name: values[part] for name, values in arrays.items()}
        scatter_examples(taken, folder, NUM_SHARDS)
    dtype = example_dtype(arrays)
    return [list(gather_shard(folder, i, dtype)) for i in range(NUM_SHARDS)]


def test_every_example_once_and_far_from_its_neighbours(arrays, tmp_path):
    shards = shuffle(arrays, tmp_path / "a", np.arange(NUM_EXAMPLES), 5)
    order = np.array([example["number"] for shard in shards for example in shard])
    np.testing.assert_array_equal(np.sort(order), arrays["number"])
    for example in shards[3]:
        np.testing.assert_array_equal(example["row"], arrays["row"][example["number"]])
    # Two random places are a third of the whole apart on average.
    places = np.argsort(order)
    assert abs(np.abs(np.diff(places)).mean() / NUM_EXAMPLES - 1 / 3) < 0.02
    assert abs(np.corrcoef(order, np.arange(NUM_EXAMPLES))[0, 1]) < 0.09


def test_the_order_of_arrival_does_not_matter(arrays, tmp_path):
    first = shuffle(arrays, tmp_path / "a", np.arange(NUM_EXAMPLES), 1)
    order = np.random.default_rng(1).permutation(NUM_EXAMPLES)
    second = shuffle(arrays, tmp_path / "b", order, 11)
    assert [list(map(bytes, s)) for s in first] == [list(map(bytes, s)) for s in second]


def test_a_shard_may_be_empty(arrays, tmp_path):
    assert list(gather_shard(tmp_path, 0, example_dtype(arrays))) == []
