"""Tasks: which data, which head, which metric."""

from albert_keras.tasks.base import Recipe, Task
from albert_keras.tasks.baselines import trigram_loss, unigram_loss
from albert_keras.tasks.glue import SST2
from albert_keras.tasks.pretraining import PretrainingTask
from albert_keras.tasks.recipes import (
    RECIPES,
    PretrainingRecipe,
    scaled_learning_rate,
)
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
    "RECIPES",
    "TASKS",
    "PretrainingRecipe",
    "PretrainingTask",
    "Recipe",
    "Task",
    "TextClassificationTask",
    "majority_accuracy",
    "scaled_learning_rate",
    "trigram_loss",
    "unigram_loss",
]
