"""External sort: depends on keys and items alone, in bounded memory."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from albert_keras.pretraining import shuffling
from albert_keras.pretraining.shuffling import merge_runs, split_items, write_run

NUM_ITEMS, NUM_SHARDS = 2_000, 7


@pytest.fixture
def keyed_items():
    random = np.random.default_rng(0)
    keys = random.integers(0, 2**64, NUM_ITEMS, np.uint64)
    sizes = random.integers(0, 40, NUM_ITEMS)
    return [
        (key, number.to_bytes(2) + random.bytes(size))
        for number, (key, size) in enumerate(zip(keys.tolist(), sizes, strict=True))
    ]


def write(path, keyed_items):
    keys = np.array([key for key, _ in keyed_items], np.uint64)
    write_run(path, keys, [item for _, item in keyed_items])


def write_runs(folder, keyed_items, cuts):
    """Writes one run for each part between two cuts; returns their paths."""
    folder.mkdir()
    bounds = [0, *cuts, len(keyed_items)]
    for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
        write(folder / f"{number}.run", keyed_items[begin:end])
    return sorted(folder.iterdir())


def merge(paths, num_shards=NUM_SHARDS):
    return [
        list(merge_runs(paths, shard, num_shards, 1)) for shard in range(num_shards)
    ]


@pytest.mark.parametrize(
    "cuts", [[], [1000], [3, 3, 700, 701, 1999], range(50, 2000, 50)]
)
def test_shards_are_sorted_for_any_run_files(keyed_items, tmp_path, cuts):
    paths = write_runs(tmp_path / "runs", keyed_items, cuts)
    expected, keys = sorted(keyed_items), {item: key for key, item in keyed_items}
    for num_shards in (1, NUM_SHARDS, 131):
        shards = merge(paths, num_shards)
        assert [item for shard in shards for item in shard] == [i for _, i in expected]
        for index, shard in enumerate(shards):
            assert {keys[item] * num_shards >> 64 for item in shard} <= {index}
    assert merge(paths[::-1]) == merge(paths)


def test_every_item_far_from_its_neighbours(keyed_items, tmp_path):
    paths = write_runs(tmp_path / "runs", keyed_items, [333, 1100])
    order = [int.from_bytes(item[:2]) for shard in merge(paths) for item in shard]
    # Two random places are a third of the whole apart on average.
    places = np.argsort(order)
    assert abs(np.abs(np.diff(places)).mean() / NUM_ITEMS - 1 / 3) < 0.02
    assert abs(np.corrcoef(order, np.arange(NUM_ITEMS))[0, 1]) < 0.09


@pytest.mark.parametrize("num_keys", [1, 3, 40])
def test_equal_keys_are_in_the_order_of_the_bytes(keyed_items, tmp_path, num_keys):
    # Among them the smallest and the largest key there is.
    keys = np.linspace(2**64 - 1, 0, num_keys).tolist()
    keys = [min(int(key), 2**64 - 1) for key in keys]
    tied = [
        (keys[number % num_keys], item) for number, (_, item) in enumerate(keyed_items)
    ]
    first = write_runs(tmp_path / "a", tied, [77, 78])
    second = write_runs(tmp_path / "b", tied[::-1], [5, 901])
    expected = [item for _, item in sorted(tied)]
    for paths in (first, second):
        assert [item for shard in merge(paths) for item in shard] == expected


def test_pieces_are_of_about_the_budget(tmp_path, monkeypatch):
    random = np.random.default_rng(1)
    size, num_items = 1 << 16, 1200
    for number in range(3):
        keys = random.integers(0, 2**64, num_items // 3, np.uint64)
        write_run(tmp_path / f"{number}", keys, [bytes(size)] * len(keys))
    num_read = []
    monkeypatch.setattr(
        shuffling,
        "split_items",
        lambda blob, bounds: num_read.append(len(blob)) or split_items(blob, bounds),
    )
    budget = 20 << 20
    items = list(merge_runs([*tmp_path.iterdir()], 0, 1, budget))
    assert len(items) == num_items
    assert len(num_read) == 4 * 3
    pieces = np.reshape(num_read, (4, 3)).sum(axis=1)
    assert pieces.max() <= 1.1 * budget


_PEAKS_OF_MERGING = """
import pathlib, sys, tracemalloc
import numpy as np
from albert_keras.pretraining.shuffling import merge_runs, write_run
random, size, num_items = np.random.default_rng(0), 4096, 900
for num_runs in (9, 45):
    folder = pathlib.Path(sys.argv[1], str(num_runs))
    for number in range(num_runs):
        keys = random.integers(0, 2**64, num_items, np.uint64)
        write_run(folder / f"{number}", keys, [bytes(size)] * num_items)
    tracemalloc.start()
    num_bytes = sum(map(len, merge_runs([*folder.iterdir()], 0, 1, 8 << 20)))
    assert num_bytes == num_runs * num_items * size
    print(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
"""


def test_memory_does_not_grow_with_the_corpus(tmp_path):
    words = [sys.executable, "-c", _PEAKS_OF_MERGING, tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    small, large = map(int, done.stdout.split())
    # A piece of 8 MiB, the one before, and what is read from one file.
    assert small < 20 << 20
    assert large < 1.05 * small


def test_empty_run_file(keyed_items, tmp_path):
    paths = write_runs(tmp_path / "runs", keyed_items, [0])
    assert merge(paths[:1]) == [[]] * NUM_SHARDS
    assert merge(paths) == merge(paths[1:])
    assert merge([]) == [[]] * NUM_SHARDS


def test_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "os.replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a", [(3, b"item")])
    assert list(tmp_path.iterdir()) == []


def test_truncated_and_corrupt_runs(keyed_items, tmp_path):
    (path,) = write_runs(tmp_path / "runs", keyed_items, [])
    content = path.read_bytes()
    index = sum(len(item) for _, item in keyed_items)
    footer = index + 16 * (NUM_ITEMS + 1)
    assert len(content) == footer + 12
    broken = [content[:size] for size in (0, 7, 12, index, len(content) - 1)]
    broken += [content[9:], content + b"run1", content + content]
    for place in (index, index + 9, footer - 1, *range(footer, len(content))):
        changed = bytes([content[place] ^ 4])
        broken.append(content[:place] + changed + content[place + 1 :])
    for wrong in broken:
        path.write_bytes(wrong)
        with pytest.raises(
            ValueError,
            match="must be whole. Received: '.*0.run', truncated or corrupt.",
        ):
            merge([path])
