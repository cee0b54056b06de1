from .collapse import CollapseGuard as CollapseGuard
from .collapse import TrainingCollapsedError as TrainingCollapsedError
from .config import TrainerConfig as TrainerConfig
from .strategies import STRATEGIES as STRATEGIES
from .strategies import get_strategy as get_strategy
from .trainer import Trainer as Trainer
