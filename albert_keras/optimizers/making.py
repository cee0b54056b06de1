"""The optimizer of a training: of `compile`, of fine-tuning and of pretraining."""

from albert_keras.optimizers.adamw import AdamW
from albert_keras.optimizers.lamb import Lamb
from albert_keras.optimizers.muon import Muon
from albert_keras.optimizers.schedules import WarmupPolynomialDecay

OPTIMIZERS = {"adamw": AdamW, "lamb": Lamb, "muon": Muon}


def make_optimizer(
    learning_rate=None,
    name="adamw",
    *,
    num_steps=None,
    warmup_steps=0,
    **options,
):
    """Returns an optimizer with the paper's clipping of gradients, and its schedule.

    Args:
        learning_rate: float, the peak of the schedule; by default the optimizer's.
        name: str, of `OPTIMIZERS`.
        num_steps: int, or None for a rate that stays. Steps in which it decays to 0.
        warmup_steps: int. First of these steps, in which it rises.
        **options: Of the optimizer, such as `weight_decay`. None means its default.
    """
    if num_steps is not None:
        learning_rate = WarmupPolynomialDecay(learning_rate, num_steps, warmup_steps)
    options |= {"learning_rate": learning_rate, "global_clipnorm": 1.0}
    given = {key: value for key, value in options.items() if value is not None}
    return OPTIMIZERS[name](**given)
