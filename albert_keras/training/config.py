"""Configuration of the trainer."""

import dataclasses

from albert_keras.checks import check_positive_integer


@dataclasses.dataclass(frozen=True)
class TrainerConfig:
    """Length of a training, and intervals of logs, evaluations and checkpoints.

    Args:
        num_steps: int > 0. Optimizer steps of the whole training.
        steps_per_evaluation: int > 0. Steps between evaluations; each is followed by a
            checkpoint. Default 5000, the original's `save_checkpoints_steps`.
        steps_per_log: int > 0. Steps between entries of the log.
        num_checkpoints: int > 0. Number of newest checkpoints to keep, besides the best
            one. Default 5, as in the original.
        steps_per_checkpoint: int > 0, or `None`. Steps between additional checkpoints.
        phase_starts: tuple of int, ascending. Steps at which the shapes of batches or
            the model change. There is an evaluation before each, and the intervals are
            counted from it.
        best_metric: str. Metric of the evaluation that selects the best checkpoint. Names
            that end with `loss` are better when lower, others when higher.
        patience: int > 0, or `None`. Number of consecutive evaluations without a new
            best one after which training stops.
        micro_batches: int > 0. Number of parts of each batch, computed one after the
            other to save memory. The steps are the same.
        steps_per_execution: int > 0. Steps per call, which saves work of the host on
            accelerators. Reduced to a divisor of the number of steps to an evaluation.
        jit_compile: bool or `"auto"`. Whether to compile the forward and backward passes
            with XLA; `"auto"` does so on accelerators.

    Raises:
        ValueError: If a count is not a positive integer.
    """

    num_steps: int
    steps_per_evaluation: int = 5000
    steps_per_log: int = 50
    num_checkpoints: int = 5
    steps_per_checkpoint: int | None = None
    phase_starts: tuple = ()
    best_metric: str = "val_loss"
    patience: int | None = None
    micro_batches: int = 1
    steps_per_execution: int = 1
    jit_compile: bool | str = "auto"

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is int or (field.type == int | None and value is not None):
                check_positive_integer(field.name, value)
