"""Tagging: from text to the tags of its words, and to entities with their positions."""

import tensorflow as tf

from albert_keras.export.signatures import SERVING_SIGNATURE, serve_features
from albert_keras.export.text.graph import run_in_parts, text_input
from albert_keras.export.text.words import locate_words
from albert_keras.tasks import TaggingTask
from albert_keras.tasks.entities import OUTSIDE, are_entity_tags, parse_tag
from albert_keras.tasks.tagging import PredictedTags
from albert_keras.tokenizers.packing import pack_tensors, room_in, trim_tensors
from albert_keras.tokenizers.ragged import slice_rows
from albert_keras.tokenizers.tensor_spans import code_points_of

WORDS_SIGNATURE = "serve_words"


class Tagging:
    """Tags words like `tag_words`, for sentences of any length.

    Inputs: `text` `(batch,)`, strings, which are split into words like `words_of`; for
    the signature `serve_words` instead `words` `(batch, most words)`, padded with `""`.

    Outputs: `tags`, strings `(batch, most words)`, and their float32 `probabilities`. For
    `text` also its `words`, and int32 `word_starts` and `word_ends`, in characters. With
    tags of entities also `entities` and `entity_types`, strings, int32 `entity_starts`
    and `entity_ends`, and float32 `entity_scores`, `(batch, most entities)`. Rows with
    fewer words or entities are padded with `""` and -1.
    """

    # The signature of `predictions`, and its inputs.
    signature, inputs = WORDS_SIGNATURE, ("words",)
    stored = {"labels": [str], "default": str}  # noqa: RUF012
    # Fields of the task that make the ids of a model of ids.
    ids = {"sequence_length": int}  # noqa: RUF012

    def task(self, labels, default):
        """Returns the task of answers, without a tokenizer."""
        return TaggingTask(labels=tuple(labels), default=default)

    def signatures(self, spec, task):
        """Returns the concrete functions by name."""
        tag = _tagger(spec, task)
        names = tf.constant(task.labels)

        @tf.function(autograph=False)
        def serve_words(words):
            ids, probabilities = tag(tf.RaggedTensor.from_tensor(words))
            outputs = {"tags": tf.gather(names, ids), "probabilities": probabilities}
            return {n: tf.reshape(x, tf.shape(words)) for n, x in outputs.items()}

        @tf.function(autograph=False)
        def serve(text):
            words, starts, ends = locate_words(text)
            ids, probabilities = tag(words)
            outputs = {
                "tags": words.with_values(tf.gather(names, ids)),
                "probabilities": words.with_values(probabilities),
                "words": words,
                "word_starts": starts,
                "word_ends": ends,
            }
            if are_entity_tags(task.labels):
                found = ids, probabilities, starts, ends
                outputs |= locate_entities(text, task.labels, *found)
            return {name: _padded(values) for name, values in outputs.items()}

        return {
            SERVING_SIGNATURE: serve.get_concrete_function(text_input("text")),
            WORDS_SIGNATURE: serve_words.get_concrete_function(text_input("words", 2)),
        }

    def columns(self, rows):
        """Returns the inputs of rows of the task, a list of columns."""
        return [rows.words]

    def predictions(self, task, rows, outputs):
        """Returns the `PredictedTags` of words."""

        def without_padding(name):
            pairs = zip(rows.words, outputs[name], strict=True)
            return [values[: len(words)].tolist() for words, values in pairs]

        return PredictedTags(*map(without_padding, PredictedTags._fields))


def _padded(values):
    """Returns a ragged tensor padded, int64 as int32."""
    if values.dtype == tf.string:
        return values.to_tensor("")
    if values.dtype == tf.int64:
        values = tf.cast(values, tf.int32)
    return values.to_tensor(-1)


def _tagger(spec, task):
    """Returns a function from ragged words `(batch, None)` to the tags of all words.

    The function returns int64 ids and float32 probabilities, both `(num_words,)`.
    """
    tokenizer, run = task.tokenizer, serve_features(spec)
    longest = task.recipe.sequence_length
    room = room_in(longest, 1)
    default = task.labels.index(task.default)

    def best(**features):
        logits = run(**features)["logits"]
        shares = tf.reduce_max(tf.nn.softmax(logits), axis=-1)
        return {"tags": tf.argmax(logits, axis=-1), "probabilities": shares}

    def tag(words):
        ids = tokenizer.tokenize(words.flat_values)[:, :room]
        # (num_words + 1,), (num_sequences,): tokens before each word; first words
        ends = tf.cast(ids.row_splits, tf.int64)
        first = _first_words(words.row_splits, ends, room)
        splits = tf.gather(ends, tf.concat([first, [ids.nrows()]], axis=0))
        rows = tf.RaggedTensor.from_row_splits(ids.flat_values, splits)
        packed = trim_tensors(pack_tensors([rows], tokenizer, longest))
        best_tags = run_in_parts(best, packed)
        # (num_words,): the position of each word's first token, after [CLS].
        number = tf.range(ids.nrows())
        sequence = tf.searchsorted(first, number, "right", tf.int64) - 1
        place = 1 + ends[:-1] - tf.gather(splits, sequence)
        has_token = ids.row_lengths() > 0
        place = tf.where(has_token, place, 0)
        tags, shares = (
            tf.gather_nd(best_tags[name], tf.stack([sequence, place], axis=1))
            for name in ("tags", "probabilities")
        )
        return tf.where(has_token, tags, default), tf.where(has_token, shares, 0.0)

    return tag


def _first_words(sentences, ends, room):
    """Returns the numbers of the first words of sequences, over all sentences, sorted.

    As in `align_tags`, each sequence has as many whole words as fit. `sentences` are row
    splits, and `ends` the numbers of tokens before each word, int64.
    """
    stops = sentences[1:]

    def add_sequences(words, found):
        is_left = words < stops
        found = tf.concat([found, tf.boolean_mask(words, is_left)], axis=0)
        # The first word that does not fit.
        beyond = tf.gather(ends, words) + room
        beyond = tf.searchsorted(ends, beyond, "right", tf.int64) - 1
        return tf.where(is_left, tf.minimum(stops, beyond), words), found

    _, found = tf.while_loop(
        lambda words, _: tf.reduce_any(words < stops),
        add_sequences,
        (sentences[:-1], tf.zeros(0, tf.int64)),
        shape_invariants=(tf.TensorShape([None]), tf.TensorShape([None])),
    )
    return tf.sort(found)


def locate_entities(text, labels, ids, probabilities, starts, ends):
    """Returns the entities of texts, by the rules of `find_entities`.

    Args:
        text: Strings `(batch,)`.
        labels: Tuple of str, tags of entities.
        ids: int64 `(num_words,)`. Numbers of the tags of all words.
        probabilities: float32 `(num_words,)`. Probabilities of the tags.
        starts, ends: int64 ragged `(batch, None)`. Positions of words, in characters.

    Returns:
        Dict of ragged tensors `(batch, None)`: `entities` and `entity_types`, strings;
        `entity_starts` and `entity_ends`, int64; `entity_scores`, float32, the mean
        probability of an entity's tags.
    """
    prefixes, kinds = zip(*map(parse_tag, labels), strict=True)
    names = sorted(set(kinds))
    # (num_words,)
    kind = tf.gather(tf.constant([names.index(kind) for kind in kinds]), ids)
    is_outside = tf.gather(tf.constant([p == OUTSIDE for p in prefixes]), ids)
    opens = tf.gather(tf.constant([p in ("B", "S") for p in prefixes]), ids)
    closes = tf.gather(tf.constant([p in ("O", "E", "S") for p in prefixes]), ids)
    is_first = _differ_from_previous(starts.value_rowids())
    # The first word of a text follows no entity.
    follows_none = is_first | tf.concat([[True], closes], axis=0)[:-1]
    begins = ~is_outside & (opens | follows_none | _differ_from_previous(kind))

    # An entity ends before a word that begins another one, is outside, or is in the next
    # text.
    first = tf.where(begins)[:, 0]
    num_words = tf.size(ids, tf.int64)
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


def _differ_from_previous(numbers):
    return numbers != tf.concat([[-1], numbers], axis=0)[:-1]
