"""Creation of optimizers for `compile`, fine-tuning and pretraining."""

from albert_keras.optimizers.adamw import AdamW
from albert_keras.optimizers.lamb import Lamb
from albert_keras.optimizers.muon import Muon
from albert_keras.optimizers.schedules import WarmupPolynomialDecay

OPTIMIZERS = {"adamw": AdamW, "lamb": Lamb, "muon": Muon}


def make_optimizer(
    learning_rate=None, name="adamw", *, num_steps=None, warmup_steps=0, **options
):
    """Returns an optimizer with the paper's clipping and learning rate schedule.

    Args:
        learning_rate: float. Peak of the schedule. Default: the optimizer's own rate.
        name: str. Key of `OPTIMIZERS`.
        num_steps: int. Number of steps, in which the rate decays to 0; `None` for a
            constant rate.
        warmup_steps: int. Number of first steps, in which the rate rises from 0.
        **options: Arguments of the optimizer, such as `weight_decay`. `None` is its
            default.
    """
    if num_steps is not None:
        learning_rate = WarmupPolynomialDecay(learning_rate, num_steps, warmup_steps)
    options |= {"learning_rate": learning_rate, "global_clipnorm": 1.0}
    given = {key: value for key, value in options.items() if value is not None}
    return OPTIMIZERS[name](**given)
