"""Heads of question answering: their models, inputs and targets."""

import weakref
from typing import ClassVar


class PlainHead:
    """Start and end of the answer predicted independently, the original's for SQuAD 1.1.

    The score of [CLS] against that of the best span says that there is no answer.
    """

    inputs = ("token_ids", "segment_ids", "padding_mask")
    training_inputs = inputs
    # From outputs of the model to arrays of the examples.
    targets: ClassVar = {
        "start_logits": "start_positions",
        "end_logits": "end_positions",
    }

    @property
    def model_class(self):
        """The class of the head's models."""
        from albert_keras.models import AlbertQuestionAnswerer

        return AlbertQuestionAnswerer

    def constants(self, arrays):
        """Returns the arrays whose entropies make up the prior loss."""
        return [arrays["start_positions"], arrays["end_positions"]]

    def predictor(self, model):
        """Returns the model whose outputs `decode_answers` takes."""
        return model


class JointHead(PlainHead):
    """The end predicted given the start, and answerability, as for SQuAD 2.0.

    Training is given the start of the answer; prediction searches with a beam.
    """

    inputs = (*PlainHead.inputs, "answer_mask")
    training_inputs = (*inputs, "start_positions")
    targets: ClassVar = {**PlainHead.targets, "answerability_logits": "is_impossible"}

    def __init__(self):
        # Each beam model is built, and compiled, once.
        self._beams = weakref.WeakKeyDictionary()

    @property
    def model_class(self):
        """The class of the head's models."""
        from albert_keras.models import AlbertJointQuestionAnswerer

        return AlbertJointQuestionAnswerer

    def constants(self, arrays):
        """Returns starts, lengths and answerability; ends are predicted given starts."""
        starts, ends = super().constants(arrays)
        return [starts, ends - starts, arrays["is_impossible"]]

    def predictor(self, model):
        """Returns the beam search of a model."""
        if model not in self._beams:
            self._beams[model] = model.beam_model()
        return self._beams[model]


ANSWER_HEADS = {"plain": PlainHead(), "joint": JointHead()}
