"""Description of a head in the registry `HEADS`."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class HeadSpec:
    """The model class of a head, and how a checkpoint shows its number of classes.

    Loading, saving, `convert` and export find all else in the model itself: its inputs,
    its outputs and its arguments.

    Args:
        model: `keras.Model` subclass, built as `model(backbone, **options)`.
        class_argument: str or `None`. The argument that takes the number of classes.
        class_bias: str or `None`. Path of the variable with one value for each class.
        may_be_new: bool. Whether the model is of use with a head of random weights, as
            before fine-tuning.

    Example:

    >>> from albert_keras.models import HEADS
    >>> HEADS["token_classification"].class_argument
    'num_classes'
    """

    model: type
    class_argument: str | None = None
    class_bias: str | None = None
    may_be_new: bool = True
