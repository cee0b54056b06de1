"""One trainer for pretraining and fine-tuning, on Keras' `compile` and `fit`."""

from albert_keras.training.collapse import CollapseGuard, TrainingCollapsedError
from albert_keras.training.strategies import STRATEGIES, get_strategy
from albert_keras.training.trainer import Trainer, TrainerConfig
