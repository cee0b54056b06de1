"""Kinds of text signatures in the operations of TFLite, which splits no strings."""

import numpy as np
import tensorflow as tf

from albert_keras.export.signatures import (
    SERVING_SIGNATURE,
    backbone_config,
    serve_features,
)
from albert_keras.export.text.choices import Choices
from albert_keras.export.text.graph import as_features, text_input
from albert_keras.export.text.lite_questions import LiteQuestions
from albert_keras.export.text.masked_words import MaskedWords
from albert_keras.export.text.predictor import TaskPredictor
from albert_keras.export.text.tagging import WORDS_SIGNATURE, Tagging
from albert_keras.export.tflite_text import PaddedRows, make_encoder, padded
from albert_keras.preprocessors.choices import filled_choices
from albert_keras.tasks.multiple_choice.reading import LETTERS
from albert_keras.text import in_text_batches
from albert_keras.tokenizers.packing import (
    num_special_tokens,
    pack_tensors,
    room_in,
    trim_tensors,
)


class LiteMaskedWords(MaskedWords):
    """`MaskedWords` with the same inputs and outputs."""

    def signatures(self, model, task, labels):
        """Returns the concrete functions by name."""
        tokenizer, run = task.tokenizer.with_masks(), serve_features(model)
        encode = make_encoder(tokenizer)
        longest = backbone_config(model).max_sequence_length
        tokens = tokenizer.encoder.decode_batch(
            [[index] for index in range(tokenizer.vocabulary_size())]
        )
        top_k = min(task.top_k, len(tokens))

        @tf.function(autograph=False)
        def serve(text):
            ids = encode(text)
            lengths = tf.cast(ids.row_lengths(), tf.int32)
            fits = lengths + num_special_tokens(1) <= longest
            features = trim_tensors(pack_tensors([ids], tokenizer, longest))
            is_mask = tf.equal(features["token_ids"], tokenizer.mask_token_id)
            is_mask &= tf.expand_dims(fits, 1)
            # (batch, most masks): at least one, which heads need.
            number = tf.reduce_sum(tf.cast(is_mask, tf.int32), axis=1)
            most = tf.maximum(1, tf.reduce_max(number))
            from_end = tf.shape(is_mask)[1] - tf.range(tf.shape(is_mask)[1])
            from_end *= tf.cast(is_mask, tf.int32)
            found = tf.math.top_k(from_end, most).values
            is_real = found > 0
            positions = tf.where(is_real, tf.shape(is_mask)[1] - found, 0)
            outputs = run(**as_features(features), mask_positions=positions)
            logits = outputs.get("mlm_logits", outputs.get("logits"))
            best = tf.math.top_k(tf.nn.softmax(logits[..., : len(tokens)]), top_k)
            is_real = tf.expand_dims(is_real, -1)
            index = tf.where(is_real, best.indices, len(tokens))
            return {
                "tokens": tf.gather(tf.constant([*tokens, ""]), index),
                "probabilities": tf.where(is_real, best.values, 0.0),
            }

        return {SERVING_SIGNATURE: serve.get_concrete_function(text_input("text"))}


class LiteChoices(Choices):
    """`Choices` of questions that are filled already.

    Inputs: `context` `(batch,)`, and `statements` `(batch, num_choices)`, strings: the
    question with each choice in place of its `_`, or after it and a space.
    """

    inputs = ("context", "statements")

    def signatures(self, model, task, labels):
        """Returns the concrete functions by name."""
        tokenizer, run = task.tokenizer, serve_features(model)
        encode = make_encoder(tokenizer)
        longest = task.recipe.sequence_length
        room = room_in(longest, 2)
        most = min(task.max_question_length, room)

        @tf.function(autograph=False)
        def serve(context, statements):
            num_choices = tf.shape(statements)[1]
            asked = padded(encode(tf.reshape(statements, [-1])))
            # The last tokens of a question are kept, of a context the first.
            kept = tf.minimum(asked.lengths, most)
            asked = asked.from_places(tf.expand_dims(asked.lengths - kept, 1), kept)
            contexts = padded(encode(context))
            row_of = tf.range(tf.size(asked.lengths)) // num_choices
            contexts = PaddedRows(
                tf.gather(contexts.ids, row_of),
                tf.minimum(tf.gather(contexts.lengths, row_of), room - kept),
            )
            rows = trim_tensors(pack_tensors([contexts, asked], tokenizer, longest))
            features = {
                name: tf.reshape(x, [-1, num_choices, tf.shape(x)[1]])
                for name, x in as_features(rows).items()
            }
            logits = run(**features)["logits"]
            letters = tf.gather(tf.constant([*LETTERS]), tf.argmax(logits, axis=-1))
            return {
                "logits": logits,
                "probabilities": tf.nn.softmax(logits),
                "label": letters,
            }

        specs = text_input("context"), text_input("statements", 2)
        return {SERVING_SIGNATURE: serve.get_concrete_function(*specs)}

    def columns(self, rows):
        """Returns the inputs of rows of the task, a list of columns."""
        return [rows.articles, filled_choices(rows)]


class LiteTagging(Tagging):
    """`Tagging` of the words that fit into one sequence.

    Inputs of `serve_words`: `words` `(batch, most words)`, strings, with `""` at the ends
    of rows.

    Outputs: `tags`, strings of the same shape, their float32 `probabilities`, and int32
    `num_tagged` `(batch,)`: the words of each row that were read. The others are tagged
    by another call that begins with them.
    """

    def signatures(self, model, task, labels):
        """Returns the concrete functions by name."""
        tokenizer, run = task.tokenizer, serve_features(model)
        encode = make_encoder(tokenizer)
        longest = task.recipe.sequence_length
        room = room_in(longest, 1)
        names, default = tf.constant(task.labels), task.labels.index(task.default)

        @tf.function(autograph=False)
        def serve_words(words):
            shape = tf.shape(words)
            ids = padded(encode(tf.reshape(words, [-1])))
            # (batch, most words): tokens of each word, and to its end.
            lengths = tf.reshape(tf.minimum(ids.lengths, room), shape)
            ends = tf.cumsum(lengths, axis=1)
            fits = tf.cast(ends <= room, tf.int32)
            num_tokens = tf.reduce_max(ends * fits, axis=1)
            # (batch, length): the word of each token, and the token's place in it.
            place = tf.range(tf.reduce_max(tf.pad(num_tokens, [[0, 1]])))
            is_after = tf.expand_dims(ends, 1) <= tf.expand_dims(place, 1)
            word = tf.reduce_sum(tf.cast(is_after, tf.int32), axis=-1)
            word = tf.minimum(word, shape[1] - 1)
            start = tf.gather(ends - lengths, word, batch_dims=1)
            row = tf.expand_dims(tf.range(shape[0]) * shape[1], 1) + word
            width = tf.shape(ids.ids)[1]
            inside = tf.clip_by_value(place - start, 0, width - 1)
            tokens = tf.gather(tf.reshape(ids.ids, [-1]), row * width + inside)
            rows = PaddedRows(tokens, num_tokens)
            features = trim_tensors(pack_tensors([rows], tokenizer, longest))
            logits = run(**as_features(features))["logits"]
            # The first token, after [CLS], stands for its word.
            first = tf.minimum(1 + ends - lengths, tf.shape(logits)[1] - 1)
            best = tf.argmax(logits, axis=-1, output_type=tf.int32)
            best = tf.gather(best, first, batch_dims=1)
            best = tf.where(lengths > 0, best, default)
            shares = tf.reduce_max(tf.nn.softmax(logits), axis=-1)
            shares = tf.gather(shares, first, batch_dims=1)
            return {
                "tags": tf.gather(names, best),
                "probabilities": tf.where(lengths > 0, shares, 0.0),
                "num_tagged": tf.reduce_sum(fits, axis=1),
            }

        return {
            WORDS_SIGNATURE: serve_words.get_concrete_function(text_input("words", 2))
        }

    def answer(self, serve, words):
        """Returns the outputs for a column of words, in as many calls as are needed."""
        outputs = serve(words=_as_array(words))
        names = ("tags", "probabilities")
        found = {name: outputs[name].tolist() for name in names}
        for row, count in enumerate(outputs["num_tagged"].tolist()):
            while count < len(words[row]):
                more = serve(words=_as_array([words[row][count:]]))
                number = int(more["num_tagged"][0])
                for name, rows in found.items():
                    rows[row][count : count + number] = more[name][0, :number].tolist()
                count += number
        return {n: np.array(rows, outputs[n].dtype) for n, rows in found.items()}


LITE_KINDS = {
    "masked_words": LiteMaskedWords(),
    "choices": LiteChoices(),
    "tagging": LiteTagging(),
    "questions": LiteQuestions(),
}


def lite_predictor(description, runners, tokenizer=None):
    """Returns the `TaskPredictor` of a TFLite file of text.

    Args:
        description: Dict, the content of `TASK_FILE`.
        runners: Dict of functions from NumPy arrays to dicts of them, by signature.
        tokenizer: That of the graph, for questions.
    """
    kind = LITE_KINDS[description["kind"]]
    serve = runners[kind.signature]

    def call(columns):
        if hasattr(kind, "answer"):
            outputs = kind.answer(serve, *columns)
        else:
            arrays = map(_as_array, columns)
            outputs = serve(**dict(zip(kind.inputs, arrays, strict=True)))
        return {name: _decoded(values) for name, values in outputs.items()}

    def run(columns, batch_size):
        return in_text_batches(call, columns, batch_size)

    return TaskPredictor(description, run, kind, tokenizer)


def _as_array(column):
    """Returns an array of str, or of rows of them with `""` at the end."""
    if isinstance(column[0], str):
        return np.array(column, dtype=object)
    longest = max(1, *map(len, column))
    return np.array([[*row, *[""] * (longest - len(row))] for row in column], object)


def _decoded(values):
    """Returns an array, of str if it is of bytes."""
    if values.dtype != object:
        return values
    flat = [x.decode() if isinstance(x, bytes) else x for x in values.ravel().tolist()]
    return np.array(flat, dtype=str).reshape(values.shape)
