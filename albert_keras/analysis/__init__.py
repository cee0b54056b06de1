"""What a model costs and how it behaves, computed rather than guessed."""

from albert_keras.analysis.learning_curve import plot_learning_curve, read_log
from albert_keras.analysis.parameters import count_parameters, parameter_table

__all__ = ["count_parameters", "parameter_table", "plot_learning_curve", "read_log"]
