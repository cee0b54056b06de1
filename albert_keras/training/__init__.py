"""Training on `compile` and `fit`: one trainer for pretraining and fine-tuning."""

from albert_keras.training.strategies import STRATEGIES, get_strategy
from albert_keras.training.trainer import Trainer, TrainerConfig

__all__ = ["STRATEGIES", "Trainer", "TrainerConfig", "get_strategy"]
