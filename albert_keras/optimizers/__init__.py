"""Optimizers and schedules of the paper, for `model.compile`."""

from albert_keras.optimizers.adamw import AdamW
from albert_keras.optimizers.lamb import Lamb
from albert_keras.optimizers.schedules import WarmupPolynomialDecay

__all__ = ["AdamW", "Lamb", "WarmupPolynomialDecay"]
