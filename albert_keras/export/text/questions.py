"""Questions: from a question and a context to the best answers with their positions."""

import math
from typing import NamedTuple

import tensorflow as tf

from albert_keras.export.signatures import SERVING_SIGNATURE, serve_features
from albert_keras.export.text.graph import require, run_in_parts, text_input
from albert_keras.export.text.words import extend_to_words
from albert_keras.preprocessors.answer_windows import check_window_lengths
from albert_keras.tasks import QuestionAnsweringTask
from albert_keras.tasks.question_answering.decoding import Answer, Candidate
from albert_keras.tokenizers.packing import pack_tensors, room_in, trim_tensors
from albert_keras.tokenizers.ragged import slice_rows
from albert_keras.tokenizers.tensor_spans import code_points_of, satisfy

# As in `decode_answers`.
NUM_BEST = 20
# Score of a span that cannot be an answer.
NO_SPAN = -math.inf
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

    task = QuestionAnsweringTask
    # The signature of `predictions`, and its inputs.
    signature, inputs = SERVING_SIGNATURE, ("question", "context")
    stored = {"scoring": str, "max_answer_length": int, "null_threshold": None}  # noqa: RUF012
    # Fields of the task that make the ids of a model of ids.
    ids = {  # noqa: RUF012
        **{"sequence_length": int, "head": str},
        **{"doc_stride": int, "max_question_length": int},
    }

    def signatures(self, spec, task):
        """Returns the concrete functions by name."""
        check_window_lengths(
            task.recipe.sequence_length, task.doc_stride, task.max_question_length
        )
        tokenizer, run = task.tokenizer, serve_features(spec)
        _, inputs = run.structured_input_signature

        def find_spans(may_start, may_end, **features):
            outputs = run(**{name: features[name] for name in inputs})
            longest = task.max_answer_length
            return best_spans(outputs, may_start, may_end, longest, NUM_BEST)

        @tf.function(autograph=False)
        def serve(question, context):
            sizes = tf.stack([tf.size(question), tf.size(context)])
            rule = "Each question must have its context."
            require(sizes[0] == sizes[1], rule, sizes)
            ids, starts, ends = tokenizer.tokenize_with_spans(context)
            windows = cut_windows(tokenizer.tokenize(question), ids, task)
            allowed = {"may_start": windows.may_start, "may_end": windows.may_end}
            spans = run_in_parts(find_spans, windows.features | allowed)
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


# === Windows of contexts, by the rules of `make_windows` ===


class TensorWindows(NamedTuple):
    """Questions with overlapping windows of their contexts.

    Attributes:
        features: Dict of int32 `(num_windows, length)`: the features of `pack_tensors`,
            and `answer_mask`, 1 on [CLS] and on the context.
        may_start, may_end: Bool `(num_windows, length)`. Where answers may start and end.
        question_of: int64 `(num_windows,)`. The question of each window.
        tokens: int64 `(num_windows,)`. A position in a window plus this is the number of
            a token among the tokens of all contexts.
    """

    features: dict
    may_start: tf.Tensor
    may_end: tf.Tensor
    question_of: tf.Tensor
    tokens: tf.Tensor


def cut_windows(questions, contexts, task):
    """Returns the `TensorWindows` of a task for int32 ragged ids `(batch, None)`."""
    tokenizer, longest = task.tokenizer, task.recipe.sequence_length
    asked = questions[:, : task.max_question_length]
    # (batch,)
    room = room_in(longest, 2) - asked.row_lengths()
    num_tokens = contexts.row_lengths()
    strides = tf.minimum(tf.constant(task.doc_stride, tf.int64), room)
    # The last window ends with the context.
    counts = 1 - tf.minimum(room - num_tokens, 0) // strides
    # (num_windows,)
    question_of = tf.repeat(tf.range(questions.nrows()), counts)
    starts = tf.ragged.range(counts).values * tf.gather(strides, question_of)
    lengths = tf.gather(num_tokens, question_of) - starts
    lengths = tf.minimum(lengths, tf.gather(room, question_of))
    begins = tf.gather(contexts.row_starts(), question_of) + starts
    asked = tf.gather(asked, question_of)
    rows = slice_rows(contexts.values, begins, lengths)
    packed = trim_tensors(pack_tensors([asked, rows], tokenizer, longest))

    # (num_windows, length): positions in the window's part of the context.
    places = tf.range(tf.shape(packed["token_ids"])[1], dtype=tf.int64)
    shift = 2 + asked.row_lengths()
    inside = places - shift[:, tf.newaxis]
    is_context = (inside >= 0) & (inside < lengths[:, tf.newaxis])
    is_max = _have_max_context(begins, lengths, contexts.values)
    flat = tf.where(is_context, rows.row_starts()[:, tf.newaxis] + inside, 0)
    # All contexts of the batch may be empty.
    is_max = tf.gather(tf.pad(is_max, [[0, 1]]), flat)
    answer_mask = tf.cast(is_context | tf.equal(places, 0), tf.int32)
    return TensorWindows(
        {**packed, "answer_mask": answer_mask},
        is_context & is_max,
        is_context,
        question_of,
        begins - shift,
    )


def _have_max_context(begins, lengths, token_ids):
    """Returns which tokens have more context than in all other windows.

    See `answer_windows`. Among windows with equal context the first one counts.

    Args:
        begins, lengths: int64 `(num_windows,)`. The number of the first token, among the
            tokens of all contexts, and the number of tokens.
        token_ids: `(num_tokens,)`. All contexts.

    Returns:
        Bool, for the tokens of all windows, one window after the other.
    """
    tokens = tf.ragged.range(begins, begins + lengths)
    window_of, tokens = tokens.value_rowids(), tokens.values
    size = tf.gather(lengths, window_of)
    before = tokens - tf.gather(begins, window_of)
    context = tf.cast(tf.minimum(before, size - 1 - before), tf.float64)
    context += 0.01 * tf.cast(size, tf.float64)
    number = tf.size(token_ids, tf.int64)
    most = tf.math.unsorted_segment_max(context, tokens, number)
    is_most = tf.equal(context, tf.gather(most, tokens))
    last = tf.where(is_most, window_of, tf.int64.max)
    first = tf.math.unsorted_segment_min(last, tokens, number)
    return tf.equal(window_of, tf.gather(first, tokens))


# === Best answers, by the rules of `decode_answers` ===


def best_spans(outputs, may_start, may_end, max_answer_length, num_best):
    """Returns the best valid spans of windows, and the windows' null scores.

    Args:
        outputs: Outputs of a head's `predictor`, a dict.
        may_start, may_end: Bool `(num_windows, length)`. Where answers may start and end.
        max_answer_length, num_best: As for `decode_answers`.

    Returns:
        Dict of `null_scores` `(num_windows,)`, and of `(num_windows, number)`, best
        first: `scores`, -inf where there is no span, and int32 `starts` and `ends`.
    """
    if "start_logits" in outputs:
        start = tf.cast(outputs["start_logits"], tf.float64)
        end = tf.cast(outputs["end_logits"], tf.float64)
        null_scores = start[:, 0] + end[:, 0]
        start = tf.where(may_start, start, NO_SPAN)
        end = tf.where(may_end, end, NO_SPAN)
        length = tf.shape(start)[1]
        end = tf.pad(end, [[0, 0], [0, max_answer_length - 1]], constant_values=NO_SPAN)
        # (num_windows, length, max_answer_length)
        ends = [end[:, n : n + length] for n in range(max_answer_length)]
        scores = tf.expand_dims(start, 2) + tf.stack(ends, axis=2)
        starts = tf.reshape(tf.range(length), [1, length, 1])
        starts = tf.zeros_like(scores, tf.int32) + starts
        ends = starts + tf.range(max_answer_length)
    else:
        null_scores = tf.cast(outputs["answerability_logits"], tf.float64)
        starts = tf.expand_dims(outputs["start_positions"], 2)
        ends = outputs["end_positions"]
        start = tf.expand_dims(tf.cast(outputs["start_log_probs"], tf.float64), 2)
        scores = start + tf.cast(outputs["end_log_probs"], tf.float64)
        starts += tf.zeros_like(ends)
        is_valid = tf.gather(may_start, starts, batch_dims=1)
        is_valid &= tf.gather(may_end, ends, batch_dims=1)
        is_valid &= (starts <= ends) & (ends - starts < max_answer_length)
        scores = tf.where(is_valid, scores, NO_SPAN)
    rule = "Scores must be numbers; the model has probably diverged."
    require(tf.reduce_all(scores < math.inf), rule, scores)
    num_spans = tf.reduce_prod(tf.shape(scores)[1:])
    scores, starts, ends = (
        tf.reshape(array, [-1, num_spans]) for array in (scores, starts, ends)
    )
    # Among equal scores, the first start comes first, then the first end.
    order = tf.argsort(starts * tf.shape(may_start)[1] + ends, stable=True)
    scores, starts, ends = (
        tf.gather(array, order, batch_dims=1) for array in (scores, starts, ends)
    )
    scores, best = tf.math.top_k(scores, tf.minimum(num_best, num_spans))
    return {
        "null_scores": null_scores,
        "scores": scores,
        "starts": tf.gather(starts, best, batch_dims=1),
        "ends": tf.gather(ends, best, batch_dims=1),
    }


def choose_answers(spans, windows, places, codes, num_best):
    """Returns the candidates of questions from the best spans of their windows.

    Args:
        spans: What `best_spans` returns.
        windows: `TensorWindows`.
        places: Tuple of two int64 `(num_tokens,)`: the start and the end of each token of
            all contexts, in characters of its context.
        codes: int32 ragged `(batch, None)`. Code points of the contexts.
        num_best: int. Candidates of a question, with different texts.

    Returns:
        Dict of ragged tensors `(batch, None)`, best first: `texts`, strings; `starts` and
        `ends`, int64 positions in the context; `scores` and `probabilities`, float64.
    """
    found = tf.where(spans["scores"] > NO_SPAN)
    window_of = found[:, 0]
    scores = tf.gather_nd(spans["scores"], found)
    question = tf.gather(windows.question_of, window_of)
    shift = tf.gather(windows.tokens, window_of)
    first, last = (
        shift + tf.cast(tf.gather_nd(spans[name], found), tf.int64)
        for name in ("starts", "ends")
    )
    # By question, then score, then position.
    order = tf.argsort(scores, direction="DESCENDING", stable=True)
    order = tf.gather(order, tf.argsort(tf.gather(question, order), stable=True))
    question, scores = tf.gather(question, order), tf.gather(scores, order)
    starts = tf.gather(places[0], tf.gather(first, order))
    ends = tf.gather(places[1], tf.gather(last, order))

    # Answers do not end with white space; an empty one would mean that there is none.
    before = tf.gather(codes.row_starts(), question)
    visible = tf.where(~satisfy(str.isspace, codes.flat_values))[:, 0]
    previous = tf.searchsorted(visible, before + ends)
    previous = tf.gather(tf.pad(visible, [[1, 0]], constant_values=-1), previous)
    ends = tf.maximum(starts, tf.minimum(ends, previous + 1 - before))
    kept = tf.where(ends > starts)[:, 0]
    starts, ends = extend_to_words(codes, before + starts, before + ends)
    rows = slice_rows(codes.flat_values, starts, ends - starts)
    texts = tf.strings.unicode_encode(rows, "UTF-8")

    # The first candidate of each text.
    keys = tf.strings.join([tf.strings.as_string(question), texts], " ")
    different, group = tf.unique(tf.gather(keys, kept), tf.int64)
    number = tf.range(tf.size(group, tf.int64))
    firsts = tf.math.unsorted_segment_min(number, group, tf.size(different, tf.int64))
    kept = tf.gather(kept, firsts)
    row_of = tf.gather(question, kept)

    def by_question(values):
        rows = tf.gather(values, kept), row_of
        return tf.RaggedTensor.from_value_rowids(*rows, nrows=codes.nrows())

    places = {"starts": starts - before, "ends": ends - before}
    candidates = {"texts": texts, **places, "scores": scores}
    candidates = {n: by_question(x)[:, :num_best] for n, x in candidates.items()}
    return {**candidates, "probabilities": _softmax(candidates["scores"])}


def _softmax(scores):
    """Returns the softmax of rows of a ragged tensor, whose first value is largest."""
    row_of = scores.value_rowids()
    largest = tf.gather(tf.pad(scores.values, [[0, 1]]), scores.row_starts())
    weights = tf.exp(scores.values - tf.gather(largest, row_of))
    sums = tf.math.segment_sum(weights, row_of)
    return scores.with_values(weights / tf.gather(sums, row_of))
