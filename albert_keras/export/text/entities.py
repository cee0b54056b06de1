"""Entities of tagged words in the graph, with their places in the text."""

import tensorflow as tf

from albert_keras.tasks.entities import OUTSIDE, parse_tag
from albert_keras.tokenizers.ragged import slice_rows
from albert_keras.tokenizers.tensor_characters import code_points_of


def locate_entities(text, labels, ids, probabilities, starts, ends):
    """Finds the entities of texts by the rules of `find_entities`.

    Args:
        text: Strings `(batch,)`.
        labels: Tuple of str, tags of entities.
        ids: int64 `(num_words,)`. Tags of the words of all texts, by number.
        probabilities: float32 `(num_words,)`, those of the tags.
        starts, ends: int64 ragged `(batch, None)`. Places of the words in characters.

    Returns:
        Dict of ragged tensors `(batch, None)`: `entities` and `entity_types`, strings;
        `entity_starts` and `entity_ends`, int64; `entity_scores`, float32, the mean
        probability of an entity's tags.
    """
    prefixes, kinds = zip(*map(parse_tag, labels), strict=True)
    names = sorted(set(kinds))
    prefix = tf.gather(tf.constant(prefixes), ids)
    kind = tf.gather(tf.constant([names.index(kind) for kind in kinds]), ids)

    # (num_words,): a text begins after a word outside of entities.
    num_words = tf.size(ids, tf.int64)
    is_first = tf.scatter_nd(
        starts.row_splits[:, tf.newaxis],
        tf.ones_like(starts.row_splits),
        num_words[tf.newaxis] + 1,
    )
    is_first = is_first[:-1] > 0
    previous = tf.concat([[OUTSIDE], prefix], axis=0)[:-1]
    previous = tf.where(is_first, OUTSIDE, previous)
    is_other = kind != tf.concat([[-1], kind], axis=0)[:-1]
    is_outside = prefix == OUTSIDE
    begins = ~is_outside & (_is_any(prefix, "BS") | _is_any(previous, "OES") | is_other)

    # An entity ends before the next word that begins one, is outside, or another text's.
    first = tf.where(begins)[:, 0]
    stops = tf.concat([tf.where(begins | is_outside | is_first)[:, 0], [num_words]], 0)
    last = tf.gather(stops, tf.searchsorted(stops, first, "right")) - 1
    row_of = tf.gather(starts.value_rowids(), first)
    begin, end = tf.gather(starts.values, first), tf.gather(ends.values, last)
    codes = code_points_of(text)
    rows = slice_rows(
        codes.flat_values, tf.gather(codes.row_starts(), row_of) + begin, end - begin
    )
    sums = tf.cumsum(tf.pad(tf.cast(probabilities, tf.float64), [[1, 0]]))
    total = tf.gather(sums, last + 1) - tf.gather(sums, first)
    means = total / tf.cast(last + 1 - first, tf.float64)
    found = {
        "entities": tf.strings.unicode_encode(rows, "UTF-8"),
        "entity_types": tf.gather(tf.constant(names), tf.gather(kind, first)),
        "entity_starts": begin,
        "entity_ends": end,
        "entity_scores": tf.cast(means, tf.float32),
    }
    return {
        name: tf.RaggedTensor.from_value_rowids(values, row_of, nrows=starts.nrows())
        for name, values in found.items()
    }


def _is_any(prefix, letters):
    return tf.reduce_any(prefix[:, tf.newaxis] == tf.constant([*letters]), axis=1)
