"""Tagging: text in, a tag for each word and the entities with their places out."""

import tensorflow as tf

from albert_keras.export.signatures import SERVING_SIGNATURE, serve_features
from albert_keras.export.text.entities import locate_entities
from albert_keras.export.text.graph import as_features, run_in_parts, text_input
from albert_keras.tasks import TaggingTask
from albert_keras.tasks.entities import are_entity_tags
from albert_keras.tasks.tagging import PredictedTags
from albert_keras.tokenizers.packing import pack_tensors, room_in, trim_tensors
from albert_keras.tokenizers.tensor_characters import locate_words

WORDS_SIGNATURE = "serve_words"


class Tagging:
    """Tags words like `tag_words`, of sentences of any length.

    Inputs: `text` `(batch,)`, strings with words as `words_of` splits them; of
    `serve_words` instead `words` `(batch, most words)`, with `""` at the ends of rows.

    Outputs: `tags`, strings `(batch, most words)`, and their float32 `probabilities`; of
    `text` also its `words`, and int32 `word_starts` and `word_ends`, the characters
    before each one's start and end. With tags of entities `entities`, strings, their
    `entity_types`, int32 `entity_starts` and `entity_ends`, and float32 `entity_scores`,
    `(batch, most entities)`. Rows with fewer words or entities end with `""`, and numbers
    of -1.
    """

    task_class = TaggingTask
    # Of `columns`, and the signature that takes them.
    signature, inputs = WORDS_SIGNATURE, ("words",)
    stored = {"labels": [str], "default": str}  # noqa: RUF012
    # Fields by which a model of ids gets them.
    ids = {"sequence_length": int}  # noqa: RUF012

    def task(self, labels, default):
        """Returns the task of answers, without a tokenizer."""
        return TaggingTask(labels=tuple(labels), default=default)

    def signatures(self, model, task, labels):
        """Returns the concrete functions by name."""
        tag = _tagger(model, task)
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
    """Returns a ragged tensor as one of strings, int32 or float32."""
    if values.dtype == tf.string:
        return values.to_tensor("")
    if values.dtype == tf.int64:
        values = tf.cast(values, tf.int32)
    return values.to_tensor(-1)


def _tagger(model, task):
    """Returns a function from ragged words `(n, None)` to their tags.

    They are flat, int64 ids and float32 probabilities.
    """
    tokenizer, run = task.tokenizer, serve_features(model)
    longest = task.recipe.sequence_length
    room = room_in(longest, 1)
    default = task.labels.index(task.default)

    def best(**features):
        logits = run(**features)["logits"]
        shares = tf.reduce_max(tf.nn.softmax(logits), axis=-1)
        return {"tags": tf.argmax(logits, axis=-1), "probabilities": shares}

    def tag(words):
        ids = tokenizer.tokenize(words.flat_values)[:, :room]
        # Tokens before each word, and of all; the first word of each sequence.
        ends = tf.cast(ids.row_splits, tf.int64)
        first = _first_words(words.row_splits, ends, room)
        splits = tf.gather(ends, tf.concat([first, [ids.nrows()]], axis=0))
        rows = tf.RaggedTensor.from_row_splits(ids.flat_values, splits)
        packed = trim_tensors(pack_tensors([rows], tokenizer, longest))
        best_tags = run_in_parts(best, as_features(packed))
        # (num_words,): the first token stands for its word, after [CLS].
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
    """Returns the first word of each sequence, over all sentences, sorted.

    As in `align_tags`: each sequence has as many whole words as fit. `sentences` are row
    splits, `ends` the tokens before each word, int64.
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
