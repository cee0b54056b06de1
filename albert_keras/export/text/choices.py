"""Multiple choice: from a context, a question and choices to scores."""

import tensorflow as tf

from albert_keras.export.signatures import SERVING_SIGNATURE, serve_features
from albert_keras.export.text.graph import require, run_on_any_batch, text_input
from albert_keras.tasks import MultipleChoiceTask
from albert_keras.tasks.multiple_choice import LETTERS
from albert_keras.tokenizers.packing import pack_tensors, room_in, trim_tensors
from albert_keras.tokenizers.ragged import slice_rows


class Choices:
    """Scores choices like `MultipleChoiceTask`, packed like `pack_choices`.

    Inputs: strings `context` and `question` `(batch,)`, each `""` if there is none, and
    `choices` `(batch, num_choices)`.

    Outputs: float32 `logits` and `probabilities` `(batch, num_choices)`, and the letter
    of the best choice, the string `label` `(batch,)`.
    """

    task = MultipleChoiceTask
    # The signature of `predictions`, and its inputs.
    signature, inputs = SERVING_SIGNATURE, ("context", "question", "choices")
    stored = {}  # noqa: RUF012
    # Fields of the task that make the ids of a model of ids.
    ids = {"sequence_length": int, "max_question_length": int}  # noqa: RUF012

    def signatures(self, spec, task):
        """Returns the concrete functions by name."""
        tokenizer, run = task.tokenizer, serve_features(spec)
        longest = task.recipe.sequence_length
        room = room_in(longest, 2)
        most = min(task.max_question_length, room)

        @tf.function(autograph=False)
        def serve(context, question, choices):
            _check(context, question, choices)
            # Regular expressions do not match invalid UTF-8.
            question = tf.strings.unicode_transcode(
                question, "UTF-8", "UTF-8", errors="ignore"
            )
            num_choices = tf.shape(choices, tf.int64)[1]
            # (batch * num_choices,)
            row_of = tf.repeat(tf.range(tf.size(context, tf.int64)), num_choices)
            asked = _fill(question, tf.reshape(choices, [-1]), row_of)
            asked = tokenizer.tokenize(asked)[:, -most:]
            # A context is tokenized once for all choices.
            contexts = tokenizer.tokenize(context)
            lengths = tf.gather(contexts.row_lengths(), row_of)
            contexts = slice_rows(
                contexts.values,
                tf.gather(contexts.row_starts(), row_of),
                tf.minimum(lengths, room - asked.row_lengths()),
            )
            rows = trim_tensors(pack_tensors([contexts, asked], tokenizer, longest))
            features = {
                name: tf.reshape(x, [-1, num_choices, tf.shape(x, tf.int64)[1]])
                for name, x in rows.items()
            }
            logits = run_on_any_batch(run, features)["logits"]
            letters = tf.gather(tf.constant([*LETTERS]), tf.argmax(logits, axis=-1))
            return {
                "logits": logits,
                "probabilities": tf.nn.softmax(logits),
                "label": letters,
            }

        specs = text_input("context"), text_input("question"), text_input("choices", 2)
        return {SERVING_SIGNATURE: serve.get_concrete_function(*specs)}

    def columns(self, rows):
        """Returns the inputs of rows of the task, a list of columns."""
        return [rows.articles, rows.questions, rows.options]

    def predictions(self, task, rows, outputs):
        """Returns the scores, float32 `(batch, num_choices)`."""
        return outputs["logits"]


def _check(context, question, choices):
    sizes = tf.stack([tf.size(context), tf.size(question), tf.shape(choices)[0]])
    rule = "Each question must have a context and choices."
    require(tf.reduce_all(sizes == sizes[0]), rule, sizes)
    num_choices = tf.shape(choices)[1]
    is_valid = (num_choices >= 2) & (num_choices <= len(LETTERS))
    rule = f"A question must have from 2 to {len(LETTERS)} choices."
    require(is_valid, rule, num_choices)


def _fill(question, choices, row_of):
    """Puts each choice in place of the `_` of its question, or at the end."""
    has_blank = tf.strings.regex_full_match(question, r"(?s).*_.*")
    question = tf.where(has_blank, question, question + " _")
    # (batch * num_choices, parts): a choice after each part but the last
    parts = tf.strings.split(tf.strings.regex_replace(question, "_+", "_"), "_")
    parts = tf.gather(parts, row_of)
    number = tf.ragged.range(parts.row_lengths()).values
    row = parts.value_rowids()
    is_last = number + 1 == tf.gather(parts.row_lengths(), row)
    filled = tf.where(is_last, parts.values, parts.values + tf.gather(choices, row))
    return tf.strings.reduce_join(parts.with_values(filled), axis=1)
