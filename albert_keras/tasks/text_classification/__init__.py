"""Classification and regression of texts and pairs of texts."""

from albert_keras.tasks.metrics import label_ids
from albert_keras.tasks.text_classification.chinese import CHINESE
from albert_keras.tasks.text_classification.glue import GLUE
from albert_keras.tasks.text_classification.reading import (
    Columns,
    LabelledTexts,
    label_numbers,
    read_labelled_texts,
)
from albert_keras.tasks.text_classification.sentiment import IMDB
from albert_keras.tasks.text_classification.task import (
    LONG_TEXTS,
    TextClassificationTask,
)
