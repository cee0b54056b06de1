"""Parts of the text signatures: rows in parts, entities, checks."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from albert_keras.export.text.graph import PART_ROWS, require, run_in_parts
from albert_keras.export.text.questions import best_spans
from albert_keras.export.text.tagging import locate_entities
from albert_keras.tasks.entities import find_entities


@pytest.mark.parametrize("num_rows", [0, 1, PART_ROWS, 2 * PART_ROWS + 3])
def test_parts_are_as_large_as_they_may_be_and_give_all_rows(num_rows):
    sizes = []

    def run(token_ids, padding_mask):
        tf.numpy_function(sizes.append, [tf.shape(token_ids)[0]], [])
        return {"sums": tf.reduce_sum(token_ids * padding_mask, axis=1)}

    ids = tf.random.stateless_uniform((num_rows, 5), (1, 2), 0, 99, tf.int32)
    mask = tf.ones_like(ids)
    sums = run_in_parts(run, {"token_ids": ids, "padding_mask": mask})["sums"]
    assert sums.numpy().tolist() == tf.reduce_sum(ids, axis=1).numpy().tolist()
    assert 0 < min(sizes)
    assert max(sizes) <= PART_ROWS
    assert sum(sizes) == max(1, num_rows)


def test_a_broken_rule_tells_what_it_received():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"(?s)Be even. Received:.*3, 5"
    ):
        require(tf.constant(False), "Be even.", tf.constant([3, 5]))


# === Answers in the graph against `decode_answers`, with scores that are often equal ===


def test_a_diverged_model_is_an_error():
    scores = tf.constant([[0.0, np.nan, 0.0]])
    outputs = {"start_logits": scores, "end_logits": scores}
    everywhere, first = tf.constant([[True] * 3]), tf.constant([[True, False, False]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="probably diverged"):
        best_spans(outputs, everywhere, everywhere, 2, 5)
    # Padding may hold anything.
    best_spans(outputs, first, first, 2, 5)


# === Entities in the graph against `find_entities` ===


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
