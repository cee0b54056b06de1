"""Preprocessing of questions and contexts for question answerers."""

import warnings

import keras
import numpy as np

from albert_keras.checks import shown
from albert_keras.preprocessors import base
from albert_keras.preprocessors.answer_spans import Question
from albert_keras.preprocessors.answer_windows import make_windows

PARTS = ("question", "context")
ANSWER_PARTS = ("text", "answer_start")


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertQuestionAnswererPreprocessor(base.PythonPreprocessor):
    """Packs `[CLS] question [SEP] context [SEP]` and finds the tokens of the answers.

    If a context is too long, training uses the first window with the answer, and
    prediction the beginning. `answer_questions` reads all windows.

    Args:
        tokenizer: A tokenizer of this package.
        sequence_length: int. Tokens of a row, special tokens and padding included.
        doc_stride: int. Tokens from one window to the next. Default as in Google's code.
        max_question_length: int. Tokens of a question that are kept. Default 64, as in
            Google's code, but at most half of `sequence_length`.

    Input shape:
        `x`: tuple of questions and contexts, str `(batch,)`. `y`: dict as in SQuAD, with
        `text`, str, and `answer_start`, the position of its first character in the
        context, or -1 if unknown, `(batch,)`; or `(batch, num_answers)`, where the first
        answer that is found counts. A question without text, or with an empty one, has
        no answer. Or lists of rows: tuples of question and context, or dicts with these
        names; for `y` dicts.

    Output shape:
        Dict of int32 arrays `(batch, sequence_length)`; dict of labels `(batch,)` by
        output of the model; and dict of weights, 0 for answers not in their context.

    Example:

    ```python
    answerer = ak.AlbertQuestionAnswerer.from_preset("albert_base_v2")
    answers = {"text": ["Ann"], "answer_start": [15]}
    answerer.fit((["Who wrote it?"], ["It was made by Ann."]), answers)
    ```

    Reference: google-research/albert squad_utils.py `convert_examples_to_features`.
    """

    # Arrays of `AnswerWindows` for the model's inputs, and for the labels of its outputs.
    features = ("token_ids", "segment_ids", "padding_mask")
    targets = {  # noqa: RUF012
        "start_logits": "start_positions",
        "end_logits": "end_positions",
    }

    arguments = ("sequence_length", "doc_stride", "max_question_length")

    def __init__(
        self,
        tokenizer,
        sequence_length=512,
        doc_stride=128,
        max_question_length=None,
        **kwargs,
    ):
        super().__init__(tokenizer, sequence_length, **kwargs)
        self.doc_stride = doc_stride
        if max_question_length is None:
            max_question_length = min(64, sequence_length // 2)
        self.max_question_length = max_question_length

    def columns(self, x, y=None, *, is_batch=True):
        """Returns questions and contexts, and a dict of answers.

        If these are all rows, warns of answers that are not in the context, or not at
        their `answer_start`.
        """
        x = base.parts_of(base.transposed(x), *PARTS)
        y = base.transposed(y)
        if y is None:
            return x, y
        if not isinstance(y, dict) or not y.keys() >= set(ANSWER_PARTS):
            rule = f"`y` must be dicts with {' and '.join(ANSWER_PARTS)}."
            raise ValueError(f"{rule} Received: {shown(y)}.")
        if not is_batch:
            _check_answers(_questions(*base.as_lists((x, y))))
        return x, y

    def prepare(self, x, y, sample_weight):
        questions = _questions(x, y)
        windows = make_windows(
            questions,
            self.tokenizer.encoder,
            **self.packing_options(),
            with_answers=y is not None,
            drops_lost=False,
        )
        batch = windows.examples.padded(_first_windows(windows), self.sequence_length)
        batch.setdefault("start_positions", np.zeros(len(questions), np.int32))
        features = {name: batch[name] for name in self.features}
        if y is None:
            return features, None, None
        # An answer that is not found has no label.
        has_answer = np.array([len(question.answers) > 0 for question in questions])
        is_lost = has_answer & (batch["is_impossible"] == 1)
        weights = np.where(is_lost, np.float32(0), np.float32(1))
        if sample_weight is not None:
            weights *= sample_weight
        labels = {output: batch[name] for output, name in self.targets.items()}
        return features, labels, dict.fromkeys(labels, weights)


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertJointQuestionAnswererPreprocessor(AlbertQuestionAnswererPreprocessor):
    """Packs questions and contexts for `AlbertJointQuestionAnswerer`.

    Works like `AlbertQuestionAnswererPreprocessor`, with more inputs and labels.

    For prediction `start_positions` are 0. `answer_questions` gets the most probable
    spans from `beam_model` instead.
    """

    features = (
        *AlbertQuestionAnswererPreprocessor.features,
        *("answer_mask", "start_positions"),
    )
    targets = {  # noqa: RUF012
        **AlbertQuestionAnswererPreprocessor.targets,
        "answerability_logits": "is_impossible",
    }


def _questions(x, y):
    questions, contexts = base.parts_of(x, *PARTS)
    answers = [()] * len(questions)
    if y is not None:
        answers = [*map(_answers, y["text"], y["answer_start"])]
    rows = enumerate(zip(questions, contexts, answers, strict=True))
    return [
        Question(str(number), *row, is_impossible=not row[-1]) for number, row in rows
    ]


def _check_answers(questions):
    """Warns of answers that are not in their context, or not at `answer_start`."""
    answered = [question for question in questions if question.answers]
    num_lost = sum(
        not any(text in question.context for text, _ in question.answers)
        for question in answered
    )
    num_moved = sum(
        # -1 is an unknown position.
        start >= 0 and text in context and not context.startswith(text, start)
        for _, _, context, answers, _ in answered
        for text, start in answers
    )
    rule = "Answers must be in their context, at `answer_start`. Received: "
    rule += f"{len(answered)} answers"
    if answered and num_lost == len(answered):
        raise ValueError(f"{rule}, none of which is.")
    if num_lost or num_moved:
        warnings.warn(
            f"{rule}; {num_lost} are not in it, and have weight 0; {num_moved} are "
            "elsewhere in it, and used there.",
            stacklevel=2,
        )


def _answers(texts, starts):
    """Returns pairs of text and start of a question's answers, or of its only one."""
    pairs = zip(np.ravel(texts).tolist(), np.ravel(starts).tolist(), strict=True)
    return tuple((text, start) for text, start in pairs if text)


def _first_windows(windows):
    """Returns each question's first window with the answer, or else its first window."""
    arrays = windows.examples.example_arrays
    is_impossible = arrays.get("is_impossible", 0 * windows.question_of)
    order = np.lexsort((is_impossible, windows.question_of))
    _, first = np.unique(windows.question_of[order], return_index=True)
    return order[first]
