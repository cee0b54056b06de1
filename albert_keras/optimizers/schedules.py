"""Learning rate schedules."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="albert_keras")
class WarmupPolynomialDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then polynomial decay, with the same values as Google's code.

        t < warmup_steps:   initial * t / warmup_steps
        otherwise:          end + (initial - end) * (1 - t / decay_steps) ** power

    Step 0 has rate 0. The decay is counted from step 0, so at the end of the warm-up the
    rate drops from (W - 1) / W to 1 - W / T of `initial_learning_rate`.

    Args:
        initial_learning_rate: float. The rate to which the warm-up rises.
        decay_steps: int > 0. The step T at which the decay ends, including the warm-up.
        warmup_steps: int >= 0 and < `decay_steps`. The number W of warm-up steps.
        end_learning_rate: float. Default 0.0.
        power: float. Default 1.0, linear, as in the original.

    Example:

    >>> schedule = WarmupPolynomialDecay(1.0, decay_steps=100, warmup_steps=10)
    >>> [round(float(schedule(step)), 3) for step in (0, 1, 10, 50, 100)]
    [0.0, 0.1, 0.9, 0.5, 0.0]

    Reference: google-research/albert optimization.py `create_optimizer`.
    """

    def __init__(
        self,
        initial_learning_rate,
        decay_steps,
        warmup_steps,
        end_learning_rate=0.0,
        power=1.0,
    ):
        super().__init__()
        if not 0 <= warmup_steps < decay_steps:
            raise ValueError(
                "`warmup_steps` must be at least 0 and less than `decay_steps`. "
                f"Received: warmup_steps={warmup_steps}, decay_steps={decay_steps}."
            )
        self.initial_learning_rate = initial_learning_rate
        self.decay_steps = decay_steps
        self.warmup_steps = warmup_steps
        self.end_learning_rate = end_learning_rate
        self.power = power

    def __call__(self, step):
        step = ops.cast(step, "float32")
        # The remaining steps are exact; 1 - t / T would lose digits near the end.
        remaining = ops.maximum(self.decay_steps - step, 0.0) / self.decay_steps
        span = self.initial_learning_rate - self.end_learning_rate
        decayed = self.end_learning_rate + span * ops.power(remaining, self.power)
        warming = self.initial_learning_rate * step / max(1, self.warmup_steps)
        return ops.where(step < self.warmup_steps, warming, decayed)

    def get_config(self):
        return {
            "initial_learning_rate": self.initial_learning_rate,
            "decay_steps": self.decay_steps,
            "warmup_steps": self.warmup_steps,
            "end_learning_rate": self.end_learning_rate,
            "power": self.power,
        }
