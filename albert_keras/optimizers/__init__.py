"""Optimizers and learning rate schedules for pretraining and fine-tuning."""

from albert_keras.optimizers.adamw import AdamW
from albert_keras.optimizers.lamb import Lamb
from albert_keras.optimizers.making import OPTIMIZERS, make_optimizer
from albert_keras.optimizers.muon import Muon
from albert_keras.optimizers.schedules import WarmupPolynomialDecay
