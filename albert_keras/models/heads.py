"""Entry of the registry of heads."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class HeadSpec:
    """A head: its model class, and the variable that shows its number of classes.

    Args:
        model: `keras.Model` subclass, built as `model(backbone, **options)`.
        class_argument: str or `None`. Argument that takes the number of classes.
        class_bias: str or `None`. Path of the variable with one value for each class.
        same_variables: Tuple of other model classes with the same variables.
        may_be_new: bool. Whether a checkpoint without this head can be loaded with random
            weights, for fine-tuning.
        has_weights: bool. Whether the head always has variables. If not, it can be
            loaded from any backbone.
    """

    model: type
    class_argument: str | None = None
    class_bias: str | None = None
    same_variables: tuple = ()
    may_be_new: bool = True
    has_weights: bool = True
