"""Best answers of questions in the graph, by the rules of `decode_answers`."""

import math

import tensorflow as tf

from albert_keras.export.text.graph import require
from albert_keras.tokenizers.ragged import slice_rows
from albert_keras.tokenizers.tensor_characters import extend_to_words, satisfy

# Score of a span that cannot be an answer.
NO_SPAN = -math.inf


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
        start, end = (
            tf.cast(outputs[name], tf.float64)
            for name in ("start_logits", "end_logits")
        )
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


def check_scores(outputs, padding_mask):
    """Requires that the scores of all tokens are numbers or -inf."""
    if "start_logits" in outputs:
        scores = outputs["start_logits"] + outputs["end_logits"]
        scores = tf.boolean_mask(scores, padding_mask > 0)
    else:
        starts = tf.expand_dims(outputs["start_log_probs"], -1)
        scores = starts + outputs["end_log_probs"]
    require(
        tf.reduce_all(scores < math.inf),
        "Scores must be numbers; the model has probably diverged.",
        scores,
    )
