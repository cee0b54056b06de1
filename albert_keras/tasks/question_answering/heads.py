"""Heads of question answering: their models, inputs and targets."""

import weakref


class PlainHead:
    """Start and end of the answer predicted independently, the original's for SQuAD 1.1.

    The score of [CLS] against that of the best span says that there is no answer.
    """

    @property
    def model_class(self):
        """The class of the head's models."""
        from albert_keras.models import AlbertQuestionAnswerer

        return AlbertQuestionAnswerer

    @property
    def training_inputs(self):
        """The names of the examples' arrays that training takes."""
        return self.model_class.preprocessor_cls.features

    @property
    def inputs(self):
        """The names of those that prediction takes."""
        return self.training_inputs

    @property
    def targets(self):
        """The array of the examples for each output of the model, a dict."""
        return self.model_class.preprocessor_cls.targets

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

    def __init__(self):
        # Each beam model is built, and compiled, once.
        self._beams = weakref.WeakKeyDictionary()

    @property
    def model_class(self):
        """The class of the head's models."""
        from albert_keras.models import AlbertJointQuestionAnswerer

        return AlbertJointQuestionAnswerer

    @property
    def inputs(self):
        """The names of those that prediction takes, which finds the start."""
        return tuple(n for n in self.training_inputs if n != "start_positions")

    def constants(self, arrays):
        """Returns starts, lengths and answerability; ends are predicted given starts."""
        starts, ends = super().constants(arrays)
        return [starts, ends - starts, arrays["is_impossible"]]

    def predictor(self, model):
        """Returns the beam search of a model; of an exported one, itself."""
        if not hasattr(model, "beam_model"):
            return model
        if model not in self._beams:
            self._beams[model] = model.beam_model()
        return self._beams[model]


ANSWER_HEADS = {"plain": PlainHead(), "joint": JointHead()}
