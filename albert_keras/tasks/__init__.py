"""Tasks: which data, which head, which metric."""

from albert_keras.tasks.base import Recipe, Task
from albert_keras.tasks.glue import SST2
from albert_keras.tasks.pretraining import PretrainingTask, unigram_loss
from albert_keras.tasks.text_classification import (
    TextClassificationTask,
    majority_accuracy,
)

# What `albert-keras finetune --task` knows.
TASKS = {
    "sst-2": SST2,
    "text-classification": TextClassificationTask(),
}

__all__ = [
    "TASKS",
    "PretrainingTask",
    "Recipe",
    "Task",
    "TextClassificationTask",
    "majority_accuracy",
    "unigram_loss",
]
