"""Training on `compile` and `fit`: one trainer for pretraining and fine-tuning."""

from albert_keras.training.losses import GlobalMeanLoss
from albert_keras.training.strategies import STRATEGIES, get_strategy
from albert_keras.training.trainer import Trainer, TrainerConfig

__all__ = ["STRATEGIES", "GlobalMeanLoss", "Trainer", "TrainerConfig", "get_strategy"]
