"""Preprocessing of questions with choices."""

import keras
import numpy as np

from albert_keras.preprocessors.base import PythonPreprocessor, parts_of
from albert_keras.preprocessors.choices import ChoiceQuestions, pack_choices


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertMultipleChoicePreprocessor(PythonPreprocessor):
    """Packs each choice as `[CLS] context [SEP] question and choice [SEP]`.

    Args:
        tokenizer, sequence_length: See `PythonPreprocessor`.
        max_question_length: int. Tokens of question and choice that are kept, from their
            end. Default 128, the original's.

    Input shape:
        `x`, tuple of contexts and choices, or of contexts, questions and choices: str
        `(batch,)`, and choices `(batch, num_choices)`. `y`, the positions of the right
        choices, int `(batch,)`.

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

    def __init__(
        self, tokenizer, sequence_length=512, max_question_length=128, **kwargs
    ):
        super().__init__(tokenizer, sequence_length, **kwargs)
        self.max_question_length = max_question_length

    def get_config(self):
        config = super().get_config()
        return {**config, "max_question_length": self.max_question_length}

    def prepare(self, x, y, sample_weight):
        names = ["contexts", "questions", "choices"]
        if len(x) == 2:
            names.remove("questions")
        contexts, *questions, choices = parts_of(x, *names)
        empty = [""] * len(contexts)
        examples = pack_choices(
            self.tokenizer.encoder,
            ChoiceQuestions(contexts, *(questions or [empty]), choices, None, empty),
            sequence_length=self.sequence_length,
            max_question_length=self.max_question_length,
        )
        batch = examples.padded(np.arange(len(contexts)), self.sequence_length)
        if y is None:
            return batch, None, None
        if sample_weight is not None:
            sample_weight = np.array(sample_weight, np.float32)
        return batch, np.array(y, np.int32), sample_weight
