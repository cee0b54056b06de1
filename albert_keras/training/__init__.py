"""One trainer for pretraining and fine-tuning, on Keras' `compile` and `fit`."""

from typing import TYPE_CHECKING

from albert_keras.lazy import lazy_names

if TYPE_CHECKING:
    from albert_keras.training.collapse import CollapseGuard, TrainingCollapsedError
    from albert_keras.training.config import TrainerConfig
    from albert_keras.training.strategies import STRATEGIES, get_strategy
    from albert_keras.training.trainer import Trainer

__getattr__, __dir__, __all__ = lazy_names(__spec__)
