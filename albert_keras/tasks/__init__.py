"""Fine-tuning tasks: data, heads, decoding and metrics.

Functions import Keras and the models when they need them. This takes seconds, which the
help of the command line must not wait for.
"""

import lazy_loader

from albert_keras.tasks.embedding import EmbeddingTask
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows, Recipe
from albert_keras.tasks.metrics import majority_accuracy
from albert_keras.tasks.multiple_choice import RACE, MultipleChoiceTask
from albert_keras.tasks.question_answering.task import (
    ANSWER_HEADS,
    CMRC2018,
    SQUAD,
    SQUAD2,
    QuestionAnsweringTask,
)
from albert_keras.tasks.tagging import TAGGING, TaggingTask
from albert_keras.tasks.text_classification.data_sets import CHINESE, GLUE, IMDB
from albert_keras.tasks.text_classification.reading import Columns
from albert_keras.tasks.text_classification.task import (
    MultiLabelTask,
    TextClassificationTask,
    TextRegressionTask,
)

_PAIRS = Columns("text", "label", "text_pair")

# Tasks by their names for `albert-keras finetune --task`. Names with a hyphen that are no
# benchmark's are for a user's own files.
TASKS = {
    **GLUE,
    "imdb": IMDB,
    **CHINESE,
    "squad": SQUAD,
    "squad2": SQUAD2,
    "cmrc2018": CMRC2018,
    "race": RACE,
    "tagging": TAGGING,
    "embedding": EmbeddingTask(),
    "multiple-choice": MultipleChoiceTask(),
    "text-classification": TextClassificationTask(),
    "multi-label-classification": MultiLabelTask(),
    "text-regression": TextRegressionTask(),
    "pair-classification": TextClassificationTask(columns=_PAIRS),
    "pair-regression": TextRegressionTask(columns=_PAIRS),
}

__getattr__, _, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "masked_words": ["fill_mask"],
        "prediction": ["answer_questions", "tag_words"],
    },
)
