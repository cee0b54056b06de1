"""Sentiment of English film reviews: IMDB."""

from albert_keras.tasks.recipe import Recipe
from albert_keras.tasks.text_classification.reading import Columns
from albert_keras.tasks.text_classification.task import TextClassificationTask

IMDB = TextClassificationTask(
    # A table, or the official folders `train/pos`, `train/neg`, ..., of text files.
    columns=Columns("text", "label"),
    tfds_name="imdb_reviews",
    # No checkpoint is to be chosen by the test rows: `evaluate` is for them.
    files={"train": "train", "test": "test"},
    # Three epochs, with AdamW's weight decay of 0.01: third parties report 0.921 of
    # ALBERT-base v1 so. Head and tail: Sun et al. 2019, How to fine-tune BERT for text
    # classification, section 5.3.1.
    recipe=Recipe(
        learning_rate=2e-5,
        batch_size=32,
        num_epochs=3,
        sequence_length=512,
    ),
    long_texts="head_tail",
)
