"""Entities in the graph against `find_entities`."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.export.text.entities import locate_entities
from albert_keras.tasks.tagging.entities import find_entities

LABELS = ("O", *map("-".join, itertools.product("BIES", ("PER", "LOC"))))


@pytest.mark.parametrize("num_texts", [0, 40])
def test_entities_of_any_tags(num_texts):
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 9, num_texts)
    words = [[f"w{n}é" for n in range(count)] for count in counts]
    text = tf.constant([" ".join(row) for row in words], tf.string)
    ids = rng.integers(0, len(LABELS), counts.sum())
    shares = rng.random(counts.sum())
    numbers = tf.ragged.range(tf.constant(counts, tf.int64))
    starts = 4 * numbers
    found = locate_entities(
        text,
        LABELS,
        tf.constant(ids, tf.int64),
        tf.constant(shares, tf.float32),
        starts,
        starts + 3,
    )
    words_before = np.cumsum([0, *counts])
    tags = np.split(np.array(LABELS)[ids], np.cumsum(counts)[:-1] if num_texts else [])
    for number, row in enumerate(tags[:num_texts]):
        entities = find_entities(row.tolist())
        received = [value[number].numpy().tolist() for value in found.values()]
        texts = [" ".join(words[number][a:b]).encode() for _, a, b in entities]
        kinds = [kind.encode() for kind, _, _ in entities]
        starts = [4 * a for _, a, _ in entities]
        ends = [4 * b - 1 for _, _, b in entities]
        assert received[:4] == [texts, kinds, starts, ends]
        row_shares = shares[words_before[number] :]
        means = [row_shares[a:b].mean() for _, a, b in entities]
        assert received[4] == pytest.approx(means, abs=1e-6)
    assert all(value.nrows() == num_texts for value in found.values())
