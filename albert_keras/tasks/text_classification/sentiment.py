"""Sentiment of English film reviews: IMDB."""

from albert_keras.tasks.recipe import Recipe
from albert_keras.tasks.text_classification.reading import Columns
from albert_keras.tasks.text_classification.task import TextClassificationTask

IMDB = TextClassificationTask(
    # A table, or the official folders `train/pos`, `train/neg`, ..., of text files.
    columns=Columns("text", "label"),
    tfds_name="imdb_reviews",
    # Without a validation set: the test set must not choose the checkpoint.
    files={"train": "train", "test": "test"},
    # Third parties report an accuracy of 0.921 for ALBERT-base v1 with three epochs and
    # AdamW's weight decay of 0.01. Head and tail: Sun et al. 2019, How to fine-tune BERT
    # for text classification, section 5.3.1.
    recipe=Recipe(
        learning_rate=2e-5,
        batch_size=32,
        num_epochs=3,
        sequence_length=512,
    ),
    long_texts="head_tail",
)
