"""Description of a head for exports and tasks."""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class ExportSpec:
    """A model, and its inputs and outputs; see `TaskModel.export_spec`.

    Args:
        model: The model.
        backbone: Its `AlbertBackbone`.
        preprocessor: Its preprocessor if a preset can store it, else `None`.
        kind: str. Kind of outputs: `"classes"` of texts that exclude each other,
            `"several_classes"` that may hold together, `"regression"`, `"embedding"`,
            `"backbone"`; a key of `TEXT_KINDS` of the export; or `"logits"` of another
            kind.
        output_name: str. Name of the output in exported models, if there is only one.
        num_classes: int. Number of classes of texts or tokens, 0 if the model has none.
        labels: Tuple of str or `None`. Names of the classes.
        beam_model: Function that returns the model that predicts, if it is another one.
        has_exits: bool. Whether the model has an exit after every layer.
    """

    model: typing.Any
    backbone: typing.Any
    preprocessor: typing.Any = None
    kind: str = "logits"
    output_name: str = "logits"
    num_classes: int = 0
    labels: tuple | None = None
    beam_model: typing.Callable | None = None
    has_exits: bool = False

    def predictor(self):
        """Returns the model to predict with: for a joint answerer its beam search.

        The answerer itself needs the true start of the answer as an input.
        """
        return self.beam_model() if self.beam_model else self.model
