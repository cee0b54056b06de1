"""Questions: from a question and a context to the best answers with their positions."""

import tensorflow as tf

from albert_keras.export.signatures import SERVING_SIGNATURE, serve_features
from albert_keras.export.text.graph import (
    as_features,
    require,
    run_in_parts,
    text_input,
)
from albert_keras.export.text.spans import best_spans, check_scores, choose_answers
from albert_keras.export.text.windows import cut_windows
from albert_keras.preprocessors.answer_windows import check_window_lengths
from albert_keras.tasks import QuestionAnsweringTask
from albert_keras.tasks.question_answering.decoding import Answer, Candidate
from albert_keras.tokenizers.tensor_characters import code_points_of

# As in `decode_answers`.
NUM_BEST = 20
# Outputs of candidates.
_PLACES, _NUMBERS = ("starts", "ends"), ("scores", "probabilities")


class Questions:
    """Answers questions like `answer_questions`, about contexts of any length.

    Inputs: `question` and `context`, strings `(batch,)`.

    Outputs: the string `answer` `(batch,)`, `""` if there is none, and float32
    `null_score` `(batch,)`; the higher, the less likely there is an answer. Candidates
    are different texts, best first, `(batch, most candidates)`: strings `candidates`;
    int32 `starts` and `ends`, in characters of the context, padded with -1; float32
    `scores` and `probabilities`.
    """

    task = task_class = QuestionAnsweringTask
    # The signature of `predictions`, and its inputs.
    signature, inputs = SERVING_SIGNATURE, ("question", "context")
    stored = {"scoring": str, "max_answer_length": int, "null_threshold": None}  # noqa: RUF012
    # Fields of the task that make the ids of a model of ids.
    ids = {  # noqa: RUF012
        **{"sequence_length": int, "head": str},
        **{"doc_stride": int, "max_question_length": int},
    }

    def signatures(self, model, task):
        """Returns the concrete functions by name."""
        check_window_lengths(
            task.recipe.sequence_length, task.doc_stride, task.max_question_length
        )
        tokenizer = task.tokenizer
        predictor = task.predictor(model)
        run = serve_features(predictor)

        def find_spans(may_start, may_end, **features):
            outputs = run(**{name: features[name] for name in predictor.input})
            check_scores(outputs, features["padding_mask"])
            allowed = tf.cast(may_start, tf.bool), tf.cast(may_end, tf.bool)
            return best_spans(outputs, *allowed, task.max_answer_length, NUM_BEST)

        @tf.function(autograph=False)
        def serve(question, context):
            sizes = tf.stack([tf.size(question), tf.size(context)])
            rule = "Each question must have its context."
            require(sizes[0] == sizes[1], rule, sizes)
            ids, starts, ends = tokenizer.tokenize_with_spans(context)
            windows = cut_windows(tokenizer.tokenize(question), ids, task)
            allowed = {"may_start": windows.may_start, "may_end": windows.may_end}
            spans = run_in_parts(find_spans, windows.features | as_features(allowed))
            codes = code_points_of(context)
            places = starts.values, ends.values
            found = choose_answers(spans, windows, places, codes, NUM_BEST)
            null_scores = tf.math.unsorted_segment_min(
                spans["null_scores"], windows.question_of, tf.size(question)
            )
            if task.head == "plain":
                null_scores -= _first(found["scores"], 0.0)
            answer = _first(found["texts"], "")
            if task.null_threshold is not None:
                answer = tf.where(null_scores > task.null_threshold, "", answer)
            return {
                "answer": answer,
                "null_score": tf.cast(null_scores, tf.float32),
                "candidates": found["texts"].to_tensor(""),
                **{n: tf.cast(found[n].to_tensor(-1), tf.int32) for n in _PLACES},
                **{n: tf.cast(found[n].to_tensor(), tf.float32) for n in _NUMBERS},
            }

        specs = text_input("question"), text_input("context")
        return {SERVING_SIGNATURE: serve.get_concrete_function(*specs)}

    def columns(self, rows):
        """Returns the inputs of rows of the task, a list of columns."""
        return [[row.question for row in rows], [row.context for row in rows]]

    def predictions(self, task, rows, outputs):
        """Returns a list of `Answer`."""
        columns = (outputs[name].tolist() for name in (*_PLACES, *_NUMBERS))
        columns = zip(*columns, strict=True)
        answers = []
        for row, null_score, candidates in zip(
            rows, outputs["null_score"].tolist(), columns, strict=True
        ):
            found = tuple(
                Candidate(row.context[start:end], start, score, probability)
                for start, end, score, probability in zip(*candidates, strict=True)
                # Candidates of joined batches are padded with zeros.
                if end > start >= 0
            )
            text = found[0].text if found else ""
            answers.append(Answer(row.id, text, null_score, found))
        return answers


def _first(rows, default):
    """Returns the first value of each row of a ragged tensor, or a default."""
    return rows[:, :1].to_tensor(default, shape=(None, 1))[:, 0]
