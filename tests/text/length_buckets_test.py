"""Examples, their batches by length, and the delivery of these."""

import collections
import functools
import itertools
import threading

import keras
import numpy as np
import pytest

from albert_keras.text.delivery import ArrayBatches, deliver
from albert_keras.text.examples import Examples
from albert_keras.text.length_buckets import (
    LENGTHS,
    LengthBuckets,
    evaluation_batches,
    in_text_batches,
    make_buckets,
    text_batches,
    training_batches,
    training_dataset,
)


@pytest.fixture(scope="module")
def lengths():
    """Lengths of 1009 examples: most are short, some fill a sequence."""
    drawn = np.random.default_rng(3).lognormal(3.2, 0.8, 1009)
    return np.clip(drawn, 2, 200).astype(np.int64)


def padded_to(length):
    """Returns the shortest of `LENGTHS`, or 200, that fits."""
    return min(shape for shape in (*LENGTHS, 200) if shape >= length)


@pytest.mark.parametrize(
    ("batch_size", "multiple", "tolerance"),
    [(5, 1, 0.02), (16, 1, 0.01), (67, 1, 0.01), (64, 8, 0.01), (8, 8, 0.01)],
)
def test_number_of_batches_is_kept(lengths, batch_size, multiple, tolerance):
    buckets = make_buckets(lengths, 200, batch_size, multiple=multiple)
    assert buckets.lengths == (16, 24, 32, 48, 64, 96, 128, 160, 192, 200)
    counts = collections.Counter(map(padded_to, lengths.tolist()))
    sizes = dict(zip(buckets.lengths, buckets.batch_sizes, strict=True))
    steps_per_epoch = sum(count / sizes[length] for length, count in counts.items())
    assert steps_per_epoch == pytest.approx(1009 / batch_size, rel=tolerance)
    assert not any(size % multiple for size in buckets.batch_sizes)
    assert [*buckets.batch_sizes] == sorted(buckets.batch_sizes, reverse=True)


def test_no_examples_and_one_length():
    none = np.zeros(0, np.int64)
    buckets = make_buckets(none, 20, 6)
    assert buckets == LengthBuckets((16, 20), (1, 1))
    assert [*evaluation_batches(none, buckets)] == []
    # A length of the table occurs once.
    assert make_buckets(none, 24, 6).lengths == (16, 24)


def take(lengths, buckets, seed, num_batches):
    return [*itertools.islice(training_batches(lengths, buckets, seed), num_batches)]


def test_training_batches_are_full_and_their_rows_fit(lengths):
    buckets = make_buckets(lengths, 200, 13)
    sizes = dict(zip(buckets.lengths, buckets.batch_sizes, strict=True))
    batches = take(lengths, buckets, 5, 300)
    for rows, length in batches:
        assert len(rows) == sizes[length]
        assert max(padded_to(lengths[row]) for row in rows) <= length
    # Except for examples moved at the end of an epoch, in the shortest shape.
    is_shortest = [
        {padded_to(lengths[row]) for row in rows} == {length}
        for rows, length in batches
    ]
    assert np.mean(is_shortest) > 0.85
    assert take(lengths, buckets, 6, 300) != batches


def test_every_row_is_seen_equally_often_by_length_too(lengths):
    buckets = make_buckets(lengths, 200, 32)
    batches = take(lengths, buckets, 5, 20 * 1009 // 32)
    counts = np.bincount(np.concatenate([rows for rows, _ in batches]))
    # Examples in the longest bucket, and those of the current epoch.
    assert np.ptp(counts) <= 2
    assert counts.mean() == pytest.approx(20, abs=1)


@pytest.mark.parametrize("batch_size", [1, 14, 2000])
def test_evaluation_has_every_row_once(lengths, batch_size):
    buckets = make_buckets(lengths, 200, batch_size)
    sizes = dict(zip(buckets.lengths, buckets.batch_sizes, strict=True))
    batches = [*evaluation_batches(lengths, buckets)]
    assert sorted(np.concatenate([rows for rows, _ in batches])) == [*range(1009)]
    for rows, length in batches:
        assert 1 <= len(rows) <= sizes[length]
        assert {padded_to(lengths[row]) for row in rows} == {length}
    in_order = np.concatenate([lengths[rows] for rows, _ in batches])
    assert (np.diff(in_order) >= 0).all()


def test_texts_are_batched_by_their_characters(lengths):
    # Of pairs both texts count; the longest are twice as long as any row of tokens.
    texts = ["x" * 3 * length for length in lengths]
    others = ["y" * (2 * length + 17 * (length > 190)) for length in lengths]
    (alone,) = text_batches(["a", ""], batch_size=5)
    assert alone.tolist() == [0, 1]
    batches = [*text_batches(texts, others, batch_size=32)]
    assert sorted(np.concatenate(batches)) == [*range(1009)]
    assert len(batches) == pytest.approx(1009 / 32, abs=len(LENGTHS) / 2)
    spans = [(lengths[rows].min(), lengths[rows].max()) for rows in batches]
    assert spans == sorted(spans)
    assert [*text_batches([], batch_size=3)] == []


@pytest.mark.parametrize("num_rows", [1, 2, 37])
def test_a_function_of_batches_gives_the_rows_in_order(num_rows):
    texts = ["x" * (7 * row % 53) for row in range(num_rows)]
    words = [["y"] * (row % 5) for row in range(num_rows)]
    calls = []

    def count(columns):
        calls.append(len(columns[0]))
        return {
            "counts": np.array([[*map(len, row)] for row in zip(*columns, strict=True)])
        }

    found = in_text_batches(count, [texts, words], batch_size=11)
    expected = [[len(a), len(b)] for a, b in zip(texts, words, strict=True)]
    assert found["counts"].tolist() == expected
    assert sum(calls) == num_rows
    assert len(calls) == (num_rows + 10) // 11


@pytest.fixture(scope="module")
def examples():
    """97 examples whose tokens and label are their number."""
    lengths = np.random.default_rng(5).integers(2, 40, 97)
    numbers = np.arange(97, dtype=np.int32)
    return Examples(
        np.cumsum([0, *lengths]),
        {"ids": np.repeat(numbers, lengths)},
        {"label": numbers},
    )


def assemble(batch):
    return {"ids": batch["ids"], "mask": batch["padding_mask"]}, batch["label"]


@pytest.mark.parametrize(
    ("is_by_length", "start_step"), [(True, 0), (False, 0), (True, 1), (True, 40)]
)
def test_dataset_has_the_batches_of_the_generator(examples, is_by_length, start_step):
    buckets = LengthBuckets((40,), (9,))
    if is_by_length:
        buckets = make_buckets(examples.lengths, 40, 9)
    dataset = training_dataset(examples, buckets, assemble, 3, start_step)
    expected = take(examples.lengths, buckets, 3, start_step + 25)[start_step:]
    for (features, labels), (rows, length) in zip(
        dataset.take(25).as_numpy_iterator(), expected, strict=True
    ):
        assert labels.tolist() == rows
        assert features["ids"].shape == (len(rows), length)
        lengths = examples.lengths[rows]
        assert features["mask"].sum(axis=1).tolist() == lengths.tolist()
        assert features["ids"].sum(axis=1).tolist() == (labels * lengths).tolist()


def test_training_without_examples():
    none = Examples(np.zeros(1, np.int64), {"ids": np.zeros(0, np.int32)}, {})
    with pytest.raises(ValueError, match="at least one example. Received: none"):
        training_dataset(none, LengthBuckets((8,), (3,)), assemble, seed=0)


# === Batches of examples: padding, choices, positions of tokens ===


def test_batch_of_examples_with_choices():
    examples = Examples(
        np.array([0, 2, 3, 3, 7, 8, 9]),
        {"token_ids": np.arange(11, 20, dtype=np.int32), "positions": np.eye(9, 2)},
        {"labels": np.array([1, 0], np.int32)},
        num_choices=3,
    )
    assert examples.num_examples == 2
    assert examples.lengths.tolist() == [2, 4]
    batch = examples.padded([1, 0, 1], 5)
    rows = [
        [[14, 15, 16, 17, 0], [18, 0, 0, 0, 0], [19, 0, 0, 0, 0]],
        [[11, 12, 0, 0, 0], [13, 0, 0, 0, 0], [0, 0, 0, 0, 0]],
    ]
    assert batch["token_ids"].tolist() == [rows[0], rows[1], rows[0]]
    assert np.array_equal(batch["padding_mask"], batch["token_ids"] > 0)
    assert batch["positions"].shape == (3, 3, 5, 2)
    assert batch["positions"].sum() == 2
    assert batch["labels"].tolist() == [0, 1, 0]
    assert batch["labels"].dtype == np.int32


# === Batches of Python code as datasets: order, spec, early ends, and errors ===


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
    endless = functools.partial(batches_from, num_batches=10**9)
    dataset = make_dataset(endless, SPEC, None)
    assert numbers_of(itertools.islice(dataset, 5)) == expected


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
