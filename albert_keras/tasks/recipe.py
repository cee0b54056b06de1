"""Hyperparameters of fine-tuning."""

import dataclasses

from albert_keras.config import HEAD_DROPOUT

# Of a file so small that a run has more epochs, a note says so.
MANY_EPOCHS = 50


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Hyperparameters of a fine-tuning run.

    Args:
        learning_rate: float. Peak rate of AdamW.
        batch_size: int. Examples of a step, on average if batches are by length.
        num_steps: int, or None for `num_epochs` passes over the training rows.
        warmup_steps: int, or None for 6 % of the steps, as for SST-2 in table 14.
        sequence_length: int. Maximum length of an example, in tokens.
        num_epochs: int. Used if `num_steps` is None.
        least_steps: int. Epochs are repeated until there are so many steps, but at most
            `MANY_EPOCHS` times.
        dropout: float, or None for the checkpoint's. Hidden and attention dropout.
        classifier_dropout: float. Dropout before the head.
        starts_from: str, or None. Task from whose finished run to start, if there is one.

    Reference: Lan et al. 2020, table 14.
    """

    learning_rate: float = 2e-5
    batch_size: int = 32
    num_steps: int | None = None
    warmup_steps: int | None = None
    sequence_length: int = 128
    num_epochs: int = 3
    least_steps: int = 1
    dropout: float | None = None
    classifier_dropout: float = HEAD_DROPOUT
    starts_from: str | None = None

    def __post_init__(self):
        for name in ("learning_rate", "batch_size", "sequence_length", "num_epochs"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(
                    f"`{name}` must be positive. Received: {name}={value}."
                )

    def steps_for(self, num_examples):
        """Returns `(num_steps, warmup_steps)` for a training set of `num_examples`."""
        num_steps = self.num_steps
        if num_steps is None:
            most = max(self.num_epochs, MANY_EPOCHS) * num_examples // self.batch_size
            num_steps = self.num_epochs * num_examples // self.batch_size
            num_steps = max(1, num_steps, min(self.least_steps, most))
        warmup_steps = self.warmup_steps
        if warmup_steps is None:
            warmup_steps = round(0.06 * num_steps)
        return num_steps, warmup_steps
