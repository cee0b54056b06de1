"""Classification and regression of texts and pairs of texts."""

from albert_keras.tasks.metrics import label_ids
from albert_keras.tasks.text_classification.data_sets import CHINESE, GLUE, IMDB
from albert_keras.tasks.text_classification.reading import (
    Columns,
    LabelledTexts,
    read_labelled_texts,
)
from albert_keras.tasks.text_classification.task import (
    MultiLabelTask,
    TextClassificationTask,
    TextRegressionTask,
)
