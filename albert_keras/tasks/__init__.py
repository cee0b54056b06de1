"""Tasks: which data, which head, which metric."""

from albert_keras.data import Columns
from albert_keras.tasks.base import Recipe, Task
from albert_keras.tasks.baselines import trigram_loss, unigram_loss
from albert_keras.tasks.chinese import CHINESE
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows
from albert_keras.tasks.glue import GLUE
from albert_keras.tasks.metrics import majority_accuracy
from albert_keras.tasks.multiple_choice import RACE, MultipleChoiceTask
from albert_keras.tasks.pretraining import PretrainingTask
from albert_keras.tasks.question_answering import (
    CMRC2018,
    HEADS,
    SQUAD,
    SQUAD2,
    QuestionAnsweringTask,
)
from albert_keras.tasks.recipes import (
    RECIPES,
    PretrainingRecipe,
    scaled_learning_rate,
)
from albert_keras.tasks.sentiment import IMDB
from albert_keras.tasks.tagging import TAGGING, TaggingTask
from albert_keras.tasks.text_classification import (
    LONG_TEXTS,
    TextClassificationTask,
)

# What `albert-keras finetune --task` knows. The last ones are for a user's own files.
TASKS = {
    **GLUE,
    "imdb": IMDB,
    **CHINESE,
    "squad": SQUAD,
    "squad2": SQUAD2,
    "cmrc2018": CMRC2018,
    "race": RACE,
    "tagging": TAGGING,
    "multiple-choice": MultipleChoiceTask(),
    "text-classification": TextClassificationTask(),
    "text-regression": TextClassificationTask(
        labels=(), metrics_reported=("pearson", "spearman")
    ),
    "pair-classification": TextClassificationTask(
        columns=Columns("text", "label", "text_pair")
    ),
    "pair-regression": TextClassificationTask(
        columns=Columns("text", "label", "text_pair"),
        labels=(),
        metrics_reported=("pearson", "spearman"),
    ),
}

__all__ = [
    "HEADS",
    "LONG_TEXTS",
    "RECIPES",
    "TASKS",
    "FinetuningTask",
    "MultipleChoiceTask",
    "PreparedRows",
    "PretrainingRecipe",
    "PretrainingTask",
    "QuestionAnsweringTask",
    "Recipe",
    "TaggingTask",
    "Task",
    "TextClassificationTask",
    "majority_accuracy",
    "scaled_learning_rate",
    "trigram_loss",
    "unigram_loss",
]
