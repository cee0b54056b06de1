"""Questions in the operations of TFLite, one at a time, with answers as tokens."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from albert_keras.export.signatures import SERVING_SIGNATURE, serve_features
from albert_keras.export.text.graph import as_features
from albert_keras.export.text.questions import NUM_BEST, Questions
from albert_keras.export.text.spans import NO_SPAN, best_spans
from albert_keras.export.tflite_text import PaddedRows, make_encoder, padded
from albert_keras.preprocessors.answer_windows import check_window_lengths
from albert_keras.tasks import ANSWER_HEADS
from albert_keras.tasks.question_answering.decoding import Answer, best_candidates
from albert_keras.tokenizers.packing import pack_tensors, room_in, trim_tensors


class LiteQuestions(Questions):
    """`Questions` of one question and its context, whose answers are tokens.

    Inputs: `question` and `context`, strings `(1,)`, of any length.

    Outputs: `tokens`, strings `(num_tokens,)`, the pieces of the context, of which those
    that begin with U+2581 begin a word. int32 `first` and `last` `(num_spans,)`, the
    places among them of spans that may be the answer, best first, and float32 `scores`.
    float32 `null_score` `(1,)`, as of `Questions`, and int32 `num_answers` `(1,)`: 1, or
    0 if there is no answer.
    """

    def signatures(self, model, task, labels):
        """Returns the concrete functions by name."""
        longest = task.recipe.sequence_length
        check_window_lengths(longest, task.doc_stride, task.max_question_length)
        encode, score = make_encoder(task.tokenizer), _window_scorer(model, task)
        pieces = task.tokenizer.get_vocabulary()

        @tf.function(autograph=False)
        def serve(question, context):
            asked = padded(encode(question))
            kept = tf.minimum(asked.lengths, task.max_question_length)
            asked = asked._replace(lengths=kept)
            context = padded(encode(context))
            # Texts of which there is one.
            num_tokens, kept = context.lengths[0], kept[0]
            room = room_in(longest, 2) - kept
            windows = Windows(num_tokens, room, tf.minimum(task.doc_stride, room))

            def add_window(number, found):
                spans = score(windows, number, asked, context)
                joined = {n: tf.concat([found[n], spans[n]], axis=0) for n in found}
                return number + 1, joined

            none = {"null_scores": tf.zeros([0]), "scores": tf.zeros([0])}
            none |= {name: tf.zeros([0], tf.int32) for name in ("first", "last")}
            _, found = tf.while_loop(
                lambda number, _: number < windows.count(),
                add_window,
                (tf.constant(0), none),
                shape_invariants=(
                    tf.TensorShape([]),
                    {name: tf.TensorShape([None]) for name in none},
                ),
            )
            # Of equal spans those of the first window.
            scores, order = tf.math.top_k(found["scores"], tf.size(found["scores"]))
            number = tf.reduce_sum(tf.cast(scores > NO_SPAN, tf.int32), keepdims=True)
            order = order[: number[0]]
            scores = tf.gather(found["scores"], order)
            null_score = tf.reduce_min(found["null_scores"], keepdims=True)
            if task.head == "plain":
                null_score -= tf.pad(scores, [[0, 1]])[:1]
            num_answers = tf.minimum(number, 1)
            if task.null_threshold is not None:
                is_null = null_score > task.null_threshold
                num_answers = tf.where(is_null, 0, num_answers)
            return {
                "tokens": tf.gather(tf.constant(pieces), context.ids[0, :num_tokens]),
                "first": tf.gather(found["first"], order),
                "last": tf.gather(found["last"], order),
                "scores": scores,
                "null_score": null_score,
                "num_answers": num_answers,
            }

        specs = (tf.TensorSpec((1,), tf.string, name) for name in self.inputs)
        return {SERVING_SIGNATURE: serve.get_concrete_function(*specs)}

    def answer(self, serve, questions, contexts):
        """Returns the outputs for columns of texts, in a call for each row."""
        rows = []
        for pair in zip(questions, contexts, strict=True):
            texts = (np.array([text], object) for text in pair)
            rows.append(serve(**dict(zip(self.inputs, texts, strict=True))))
        counts = np.array([len(row["scores"]) for row in rows])
        rooms = counts.max() - counts
        joined = {
            name: np.stack(
                [np.pad(row[name], (0, n)) for row, n in zip(rows, rooms, strict=True)]
            )
            for name in ("first", "last", "scores")
        }
        null_scores = np.concatenate([row["null_score"] for row in rows])
        if not (null_scores < np.inf).all():
            raise ValueError(
                "Scores must be numbers; the model has probably diverged. Received: a "
                f"null score of {null_scores[~(null_scores < np.inf)][0]}."
            )
        return joined | {"null_score": null_scores, "num_spans": counts}

    def predictions(self, task, rows, outputs):
        """Returns a list of `Answer`, with places by the tokenizer of the task."""
        locate = task.tokenizer.encoder.tokenize_with_offsets
        answers = []
        for number, row in enumerate(rows):
            first, last, scores = (
                outputs[name][number, : outputs["num_spans"][number]].tolist()
                for name in ("first", "last", "scores")
            )
            # The graph lower-cases each character by itself.
            _, places = locate(row.context.replace("Σ", "σ"))
            spans = [
                (places[start][0], places[end][1], score)
                for start, end, score in zip(first, last, scores, strict=True)
            ]
            found = best_candidates(row.context, spans, NUM_BEST)
            text = found[0].text if found else ""
            null_score = outputs["null_score"][number].item()
            answers.append(Answer(row.id, text, null_score, found))
        return answers


class Windows(NamedTuple):
    """Windows of a context, as `make_windows` cuts them.

    Attributes:
        num_tokens: int32 scalar. Tokens of the context.
        room: int32 scalar. Tokens of the context in a window.
        stride: int32 scalar. From the start of one window to that of the next.
    """

    num_tokens: tf.Tensor
    room: tf.Tensor
    stride: tf.Tensor

    def count(self):
        """Returns the number of windows, of which the last ends with the context."""
        return 1 - tf.minimum(self.room - self.num_tokens, 0) // self.stride

    def start(self, number):
        """Returns the first token of windows."""
        return number * self.stride

    def length(self, number):
        """Returns the numbers of tokens of windows."""
        return tf.minimum(self.num_tokens - self.start(number), self.room)

    def have_max_context(self, number, inside, num_neighbours):
        """Returns which tokens of a window have more context than in all others.

        Args:
            number: int32 scalar. The window.
            inside: int32 `(length,)`. Places in the window's part of the context.
            num_neighbours: int. Windows on each side that may share tokens with one.

        Returns:
            Bool `(length,)`, as `make_windows` says: of windows with equal context the
            first one counts.
        """
        # (1 + 2 * num_neighbours, 1)
        distance = tf.expand_dims(tf.range(-num_neighbours, num_neighbours + 1), 1)
        others = number + distance
        lengths = self.length(others)
        before = inside + self.start(number) - self.start(others)
        holds = (others >= 0) & (others < self.count())
        holds &= (before >= 0) & (before < lengths)

        # A hundred times that of `make_windows`, to compare integers.
        def context(before, lengths):
            return 100 * tf.minimum(before, lengths - 1 - before) + lengths

        own = context(inside, self.length(number))
        is_less = context(before, lengths) + tf.cast(distance < 0, tf.int32) <= own
        return tf.reduce_all(is_less | ~holds, axis=0)


def _window_scorer(model, task):
    """Returns a function of a window's best spans, with tokens counted in the context."""
    tokenizer, longest = task.tokenizer, task.recipe.sequence_length
    predictor = ANSWER_HEADS[task.head].predictor(model)
    run = serve_features(predictor)
    num_neighbours = (room_in(longest, 2) - 1) // task.doc_stride

    def score(windows, number, asked, context):
        start, length = windows.start(number), windows.length(number)
        ids = context.ids[:, start : start + windows.room]
        part = PaddedRows(ids, tf.reshape(length, [1]))
        packed = as_features(
            trim_tensors(pack_tensors([asked, part], tokenizer, longest))
        )
        place = tf.range(tf.shape(packed["token_ids"])[1])
        # [CLS], the question and [SEP] come before the context.
        shift = 2 + asked.lengths[0]
        is_context = (place >= shift) & (place < shift + length)
        is_max = windows.have_max_context(number, place - shift, num_neighbours)
        answer_mask = tf.cast(is_context | tf.equal(place, 0), tf.int32)
        packed["answer_mask"] = tf.expand_dims(answer_mask, 0)
        spans = best_spans(
            run(**{name: packed[name] for name in predictor.input}),
            tf.expand_dims(is_context & is_max, 0),
            tf.expand_dims(is_context, 0),
            task.max_answer_length,
            NUM_BEST,
            tf.float32,
        )
        return {
            "null_scores": spans["null_scores"],
            "scores": spans["scores"][0],
            "first": spans["starts"][0] + start - shift,
            "last": spans["ends"][0] + start - shift,
        }

    return score
