"""Examples of a token store: complete, shuffled, and started anywhere."""

import dataclasses
import itertools

import numpy as np
import pytest

from albert_keras.pretraining import stream
from albert_keras.pretraining.documents import mark_word_starts, take_documents
from albert_keras.pretraining.examples import PretrainingDataConfig
from albert_keras.pretraining.stream import ExampleStream, StoredVocabulary
from albert_keras.pretraining.token_store import token_shard_path, write_token_shard
from tests.pretraining.random_documents import number_tokens, original_ids

NUM_DOCUMENTS, SPECIAL_TOKENS = 211, 5

CONFIGS = {
    "padded": PretrainingDataConfig(sequence_length=37),
    "filled": PretrainingDataConfig(sequence_length=67, packing="filled"),
    "next sentence": PretrainingDataConfig(sequence_length=41, sentence_pairs="nsp"),
    "one text": PretrainingDataConfig(sequence_length=31, sentence_pairs="none"),
}


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    """Windows of 4 blocks, groups of 16 examples."""
    monkeypatch.setattr(stream, "WINDOW_BLOCKS", 4)
    monkeypatch.setattr(stream.examples, "GROUP_EXAMPLES", 16)


def write_store(folder, num_shards, num_blocks=25):
    """Writes a store in which all tokens of a document are its number plus 5.

    Returns:
        Tuple of the folder and the description.
    """
    rng = np.random.default_rng(17)
    lengths = [
        rng.integers(3, 12, size=size).tolist()
        for size in rng.integers(2, 7, size=NUM_DOCUMENTS)
    ]
    documents = number_tokens(lengths)
    numbers = np.repeat(np.arange(NUM_DOCUMENTS), [sum(d) for d in lengths])
    word_starts = rng.random(len(numbers)) < 0.7
    marked_ids = mark_word_starts(SPECIAL_TOKENS + numbers, word_starts)
    documents = documents._replace(marked_ids=marked_ids)
    vocabulary_size = SPECIAL_TOKENS + NUM_DOCUMENTS
    shares = np.array_split(np.arange(NUM_DOCUMENTS), num_blocks)
    blocks = [take_documents(documents, numbers) for numbers in shares]
    shards = {}
    for index, own in enumerate(np.array_split(np.arange(num_blocks), num_shards)):
        path = token_shard_path(folder, index, num_shards)
        own_blocks = [blocks[number] for number in own]
        shards[path.name] = write_token_shard(path, own_blocks, vocabulary_size)
    return folder, {
        "vocabulary_size": vocabulary_size,
        "special_token_ids": [3, 0, 4, 2, 1],
        "shards": shards,
    }


@pytest.fixture
def store(tmp_path):
    return write_store(tmp_path, num_shards=3)


def open_stream(store, config=CONFIGS["padded"], seed=9):
    folder, description = store
    vocabulary = StoredVocabulary(description)
    return ExampleStream(folder, description["shards"], vocabulary, config, seed)


def collect(batches):
    batches = list(batches)
    return {name: np.concatenate([b[name] for b in batches]) for name in batches[0]}


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for name, values in found.items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


def documents_of(arrays):
    """Returns the set of document numbers of each example."""
    return [{*row[row >= SPECIAL_TOKENS].tolist()} for row in original_ids(arrays)]


def first_places(arrays):
    """Returns the number of each document's first example."""
    places = {}
    for place, numbers in enumerate(documents_of(arrays)):
        for number in numbers:
            places.setdefault(number - SPECIAL_TOKENS, place)
    return np.array([places[number] for number in range(NUM_DOCUMENTS)])


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_stream_can_begin_anywhere(store, config):
    made = open_stream(store, config)
    sizes = [made.count_examples(epoch) for epoch in range(3)]
    total = sum(sizes)
    expected = collect(made.batches(7, stop=total))
    assert total == len(expected["token_ids"])
    rng = np.random.default_rng(1)
    ends = np.cumsum(sizes)[[0, 0, 0, 1, 2]] + [-1, 0, 1, 0, -1]
    for start in (*rng.integers(0, total, size=5).tolist(), *ends.tolist()):
        found = collect(open_stream(store, config).batches(11, start, total))
        assert_equal(found, {name: v[start:] for name, v in expected.items()})
    assert list(made.batches(5, total, total)) == []
    # The same from known sizes, of which the windows before are not read; the n-grams
    # of a group go with its first example.
    windows = [size for epoch in range(3) for size in made.count_windows(epoch)[0]]
    bounds = [0, *sorted(rng.integers(0, total, size=5).tolist()), total]
    parts = [
        group
        for begin, end in itertools.pairwise(bounds)
        for group in open_stream(store, config).groups(begin, end, windows)
    ]
    assert_equal(collect(arrays for arrays, _ in parts), expected)
    whole = [run_counts for _, run_counts in made.groups(stop=total)]
    np.testing.assert_array_equal(sum(counts for _, counts in parts), sum(whole))


def test_a_stream_has_no_end(store):
    made = open_stream(store)
    one_epoch = made.count_examples()
    batches = itertools.islice(made.batches(19, 5 * one_epoch + 3), 4)
    found = collect(batches)
    expected = collect(made.batches(23, 5 * one_epoch, 7 * one_epoch))
    assert_equal(found, {name: v[3 : 3 + 4 * 19] for name, v in expected.items()})


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_each_epoch_has_every_document_in_a_new_order(store, config):
    # A short target can leave a document without a pair.
    made = open_stream(store, dataclasses.replace(config, short_sequence_prob=0.0))
    epochs, start = [], 0
    for epoch in range(3):
        size = made.count_examples(epoch)
        epochs.append(next(made.batches(size, start)))
        start += size
    everything = {*range(SPECIAL_TOKENS, SPECIAL_TOKENS + NUM_DOCUMENTS)}
    for arrays in epochs:
        assert set().union(*documents_of(arrays)) == everything
    places = np.stack([first_places(arrays) for arrays in epochs])
    correlations = np.abs(np.corrcoef(places)[np.triu_indices(3, 1)])
    # Three deviations of the correlation of 25 blocks, which move as one.
    assert correlations.max() < 3 / np.sqrt(25)
    for first, second in itertools.combinations(epochs, 2):
        size = min(len(first["token_ids"]), len(second["token_ids"]))
        same = (first["token_ids"][:size] == second["token_ids"][:size]).all(axis=1)
        assert same.mean() < 0.02


def test_stream_depends_on_the_seed_alone(store):
    made = [collect(open_stream(store, seed=s).batches(13, stop=99)) for s in (9, 9, 8)]
    assert_equal(made[0], made[1])
    assert made[0]["token_ids"].tobytes() != made[2]["token_ids"].tobytes()


def damage_ids(folder, name, block):
    """Changes the last token id of a block on disk."""
    path = folder / name
    content = bytearray(path.read_bytes())
    content[block["offset"] + block["num_bytes"] - 1] ^= 1
    path.write_bytes(content)


def test_no_token_is_read_before_the_start(store):
    folder, description = store
    total = open_stream(store).count_examples()
    expected = collect(open_stream(store).batches(7, stop=total))
    start = 4 * len(expected["token_ids"]) // 7
    rest = {name: values[start:] for name, values in expected.items()}
    used = set().union(*documents_of(rest))
    damaged, begin = 0, SPECIAL_TOKENS
    for name, blocks in description["shards"].items():
        for block in blocks:
            stop = begin + block["num_documents"]
            if used.isdisjoint(range(begin, stop)):
                damage_ids(folder, name, block)
                damaged += 1
            begin = stop
    assert damaged > 10
    assert_equal(collect(open_stream(store).batches(7, start, total)), rest)
    assert open_stream(store).count_examples() == len(expected["token_ids"])
    message = "must be whole. Received: '.*.tokens', truncated or corrupt at byte"
    with pytest.raises(ValueError, match=message):
        list(open_stream(store).batches(7, stop=total))
