"""Examples of record files: epochs, order, exact resume, and skipped runs."""

import collections
import itertools

import numpy as np
import pytest

from albert_keras.pretraining.record_stream import RecordStream
from albert_keras.pretraining.records import Sizes, find_shards, index_files
from albert_keras.pretraining.tfrecord import RUN_RECORDS, index_records
from tests.pretraining.record_folders import make_arrays, read_examples, write_folder

# Several runs a file; epochs do not end with a batch.
NUM_EXAMPLES, SIZES = 3 * RUN_RECORDS + 2_000, Sizes(5, 1)
BATCH_SIZE = 100
NUM_BATCHES = NUM_EXAMPLES // BATCH_SIZE


def write_runs(folder):
    bounds = [0, RUN_RECORDS + 900, RUN_RECORDS + 903, NUM_EXAMPLES]
    return write_folder(folder, make_arrays(NUM_EXAMPLES, SIZES), SIZES, bounds)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder of six runs in three files."""
    folder = tmp_path_factory.mktemp("runs") / "data"
    write_runs(folder)
    return folder


def open_stream(folder, seed=None):
    return RecordStream(index_files(find_shards(folder), Sizes(None, None)), seed)


def rows(batches):
    """Returns the token ids of each example as bytes, in order."""
    return [row.tobytes() for batch in batches for row in batch["token_ids"]]


def test_each_epoch_has_every_example_in_another_order(runs):
    expected = rows(open_stream(runs).batches(BATCH_SIZE, num_epochs=1))
    assert expected == [
        example["token_ids"].tobytes()
        for path in find_shards(runs)
        for example in read_examples(path)
    ]
    assert open_stream(runs).count_examples() == len(expected) == NUM_EXAMPLES
    found = rows(open_stream(runs, 1).batches(BATCH_SIZE, num_epochs=2))
    epochs = [found[:NUM_EXAMPLES], found[NUM_EXAMPLES:]]
    for epoch in epochs:
        assert collections.Counter(epoch) == collections.Counter(expected)
        assert np.mean([a == b for a, b in zip(epoch, expected, strict=True)]) < 0.1
    assert np.mean([a == b for a, b in zip(*epochs, strict=True)]) < 0.1


def test_order_is_that_of_earlier_versions(runs):
    (batch,) = itertools.islice(open_stream(runs, 4).batches(7, 123), 1)
    high, low = batch["token_ids"][:, :2].T
    # The numbers of the examples, by which `make_arrays` begins their ids.
    expected = [6237, 5481, 7194, 5471, 5968, 7007, 5582]
    assert (997 * high + low).tolist() == expected


def test_empty_batch_has_the_form_of_others(runs):
    stream = open_stream(runs, 0)
    (batch,) = itertools.islice(stream.batches(7), 1)
    for name, empty in stream.empty_batch().items():
        assert empty.shape == (0, *batch[name].shape[1:]), name
        assert empty.dtype == batch[name].dtype, name
    assert stream.empty_batch().keys() == batch.keys()


def test_resumed_batches_equal_uninterrupted_ones(runs):
    whole = open_stream(runs, 4).batches(BATCH_SIZE)
    expected = [rows([batch]) for batch in itertools.islice(whole, 3 * NUM_BATCHES)]
    steps = np.random.default_rng(0).integers(0, 2 * NUM_BATCHES, 4)
    for step in [0, 1, *steps.tolist(), 3 * NUM_BATCHES - 11]:
        rest = open_stream(runs, 4).batches(BATCH_SIZE, step * BATCH_SIZE)
        found = [rows([batch]) for batch in itertools.islice(rest, 11)]
        assert found == expected[step : step + 11]


def overwrite_runs_without(rows, paths):
    """Overwrites each run without any of the `rows`; returns the number of these."""
    num_overwritten = 0
    for path in paths:
        index = index_records(path)
        content = bytearray(path.read_bytes())
        examples = [example["token_ids"].tobytes() for example in read_examples(path)]
        bounds = [*index["run_offsets"], index["bytes"]]
        for run, (begin, end) in enumerate(itertools.pairwise(bounds)):
            if not rows & {*examples[run * RUN_RECORDS : (run + 1) * RUN_RECORDS]}:
                content[begin:end] = b"?" * (end - begin)
                num_overwritten += 1
        path.write_bytes(content)
    return num_overwritten


@pytest.mark.parametrize("described", [True, False], ids=["described", "foreign"])
def test_resume_does_not_read_the_skipped_runs(tmp_path, described):
    paths = write_runs(tmp_path)
    if not described:
        (tmp_path / "dataset.json").unlink()
    stream = open_stream(tmp_path, 4)
    step = (2 * RUN_RECORDS + 2_500) // BATCH_SIZE

    def rest():
        batches = stream.batches(BATCH_SIZE, step * BATCH_SIZE)
        return rows(itertools.islice(batches, NUM_BATCHES - step))

    expected = rest()
    assert overwrite_runs_without({*expected}, paths) >= 2
    assert rest() == expected
    with pytest.raises(
        ValueError, match=r"^A TFRecord file must be whole. Received: '"
    ):
        rows(itertools.islice(stream.batches(BATCH_SIZE), NUM_BATCHES))
