"""Configuration of the trainer."""

import dataclasses

from albert_keras.checks import check_positive_integer, check_positive_integers


@dataclasses.dataclass(frozen=True)
class TrainerConfig:
    """Length of a training, and intervals of logs, evaluations and checkpoints.

    Args:
        num_steps: int > 0. Optimizer steps of the whole run.
        steps_per_evaluation: int > 0. Steps between evaluations, each followed by a
            checkpoint. Default 5000, the original's `save_checkpoints_steps`.
        steps_per_log: int > 0. Steps between lines of the log.
        num_checkpoints: int > 0. Newest checkpoints kept, besides the best; 5 as the
            original.
        steps_per_checkpoint: int > 0, or None. Steps between additional checkpoints.
        phase_starts: tuple of int. Steps from which batches or model have another shape,
            ascending; an evaluation is before each, and their intervals begin anew.
        best_metric: str. Metric of the evaluation that chooses the best checkpoint:
            losses are better when lower, others when higher.
        patience: int > 0, or None. Evaluations in a row without a new best after which
            training ends.
        micro_batches: int > 0. Parts each batch is cut into to save memory; the steps
            stay the same.
        steps_per_execution: int > 0. Steps per call, which saves host work on
            accelerators; reduced to a divisor of the steps to an evaluation.
        jit_compile: bool or `"auto"`. Compile forward and backward passes with XLA;
            `"auto"` does where there is an accelerator.

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
        check_positive_integers(self)
        for name in ("steps_per_checkpoint", "patience"):
            if getattr(self, name) is not None:
                check_positive_integer(name, getattr(self, name))
