"""Fine-tuning tasks: their data, heads, decoding and metrics.

Keras and the models are imported inside the functions that use them, because the command
line lists tasks and their options without the seconds that this takes.
"""

import lazy_loader

from albert_keras.tasks.embedding import EmbeddingTask
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows
from albert_keras.tasks.metrics import majority_accuracy
from albert_keras.tasks.multiple_choice import RACE, MultipleChoiceTask
from albert_keras.tasks.question_answering import (
    ANSWER_HEADS,
    CMRC2018,
    SQUAD,
    SQUAD2,
    QuestionAnsweringTask,
)
from albert_keras.tasks.recipe import Recipe
from albert_keras.tasks.tagging import TAGGING, TaggingTask
from albert_keras.tasks.text_classification import (
    CHINESE,
    GLUE,
    IMDB,
    Columns,
    MultiLabelTask,
    TextClassificationTask,
    TextRegressionTask,
)

_PAIRS = Columns("text", "label", "text_pair")

# Names of `albert-keras finetune --task`. The last ones are for a user's own files.
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
