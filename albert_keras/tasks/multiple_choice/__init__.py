"""Multiple choice."""

from albert_keras.tasks.multiple_choice.task import RACE, MultipleChoiceTask

__all__ = ["RACE", "MultipleChoiceTask"]
