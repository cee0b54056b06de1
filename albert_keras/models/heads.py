"""Description of a head in the registry `HEADS`."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class HeadSpec:
    """The model class of a head, and how a checkpoint shows its number of classes.

    Args:
        model: `keras.Model` subclass, built as `model(backbone, **options)`.
        class_argument: str or `None`. The argument that takes the number of classes.
        class_bias: str or `None`. Path of the variable with one value for each class.
        same_variables: Tuple of further model classes with the head's variables.
        may_be_new: bool. Whether the model is of use with a head of random weights, as
            before fine-tuning.
        has_weights: bool. Whether the head always has variables. One that may do without
            is in the files of every backbone.
    """

    model: type
    class_argument: str | None = None
    class_bias: str | None = None
    same_variables: tuple = ()
    may_be_new: bool = True
    has_weights: bool = True
