"""Preprocessing of questions with choices."""

import keras
import numpy as np

from albert_keras.preprocessors import base
from albert_keras.preprocessors.choices import (
    ChoiceQuestions,
    count_choices,
    pack_choices,
)


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertMultipleChoicePreprocessor(base.PythonPreprocessor):
    """Packs each choice as `[CLS] context [SEP] question and choice [SEP]`.

    Args:
        tokenizer: A tokenizer of this package.
        sequence_length: int. Tokens of a row, special tokens and padding included.
        max_question_length: int. Last tokens of question and choice that are kept.
            Default as in Google's code.

    Input shape:
        `x`: tuple of contexts and choices, or of contexts, questions and choices, str
        `(batch,)` and for choices `(batch, num_choices)`; or a list of rows: tuples of
        one context and its choices, with or without a question, or dicts with the keys
        `context`, `question` and `choices`. `y`: positions of the right choices, int
        `(batch,)`.

    Output shape:
        Dict of int32 arrays `(batch, num_choices, sequence_length)`, and `y`.

    Example:

    ```python
    chooser = ak.AlbertMultipleChoice.from_preset("albert_base_v2")
    endings = [["She opened the door.", "She is green."]]
    chooser.fit((["Ann came home."], endings), [0])
    ```

    Reference: google-research/albert race_utils.py `convert_single_example`.
    """

    arguments = ("sequence_length", "max_question_length")

    def __init__(
        self, tokenizer, sequence_length=512, max_question_length=128, **kwargs
    ):
        super().__init__(tokenizer, sequence_length, **kwargs)
        self.max_question_length = max_question_length

    def columns(self, x, y=None, *, is_batch=True):
        """Returns contexts, questions if given, and choices; and the right positions."""
        x = _parts_of(base.transposed(x))
        choices, right = base.as_lists((x[-1], y))
        if not is_batch or (choices and isinstance(choices[0], list)):
            _check_choices(choices, right)
        return x, y

    def prepare(self, x, y, sample_weight):
        contexts, *questions, choices = _parts_of(x)
        empty = [""] * len(contexts)
        rows = ChoiceQuestions(contexts, *(questions or [empty]), choices, None, empty)
        options = self.packing_options()
        examples = pack_choices(self.tokenizer.encoder, rows, **options)
        batch = examples.padded(np.arange(len(contexts)), self.sequence_length)
        if y is None:
            return batch, None, None
        if sample_weight is not None:
            sample_weight = np.array(sample_weight, np.float32)
        return batch, np.array(y, np.int32), sample_weight


def _parts_of(x):
    has_questions = "question" in x if isinstance(x, dict) else len(x) != 2
    names = ("context", "question", "choices")
    return base.parts_of(x, *(n for n in names if n != "question" or has_questions))


def _check_choices(choices, right):
    num_choices = count_choices(choices)
    # Rows of probabilities are labels for other losses.
    positions = [p for p in right or () if not isinstance(p, list)]
    wrong = [position for position in positions if position not in range(num_choices)]
    if wrong:
        rule = f"`y` must be positions of choices, from 0 to {num_choices - 1}."
        raise ValueError(f"{rule} Received: {wrong[0]!r}.")
