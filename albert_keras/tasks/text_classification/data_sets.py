"""Tasks on public data sets: GLUE, IMDB and Chinese ones."""

import dataclasses

from albert_keras.tasks.recipe import Recipe
from albert_keras.tasks.text_classification.reading import Columns
from albert_keras.tasks.text_classification.task import TextClassificationTask

_BINARY = ("0", "1")
# In the order of the original's logits.
_ENTAILMENT = ("entailment", "not_entailment")
_THREE_WAY = ("contradiction", "entailment", "neutral")

_CLUE_FILES = {"train": "train.json", "validation": "dev.json", "test": "test.json"}


def _table_14(learning_rate, batch_size, num_steps, warmup_steps, **others):
    """Returns a row of the paper's table 14, all of which have the length 512."""
    return Recipe(
        learning_rate,
        batch_size,
        num_steps,
        warmup_steps,
        sequence_length=512,
        **{"dropout": 0.0, **others},
    )


def _indexed(**columns):
    # TFDS has names for these classes, GLUE's files numbers.
    return Columns(label_is_index=True, **columns)


GLUE = {
    "cola": TextClassificationTask(
        # The files have no header.
        columns=Columns("sentence", header=("source", "label", "mark", "sentence")),
        tfds_columns=_indexed(text="sentence"),
        tfds_name="glue/cola",
        labels=_BINARY,
        metrics_reported=("matthews", "accuracy"),
        recipe=_table_14(1e-5, 16, 5336, 320),
    ),
    "sst-2": TextClassificationTask(
        columns=Columns("sentence"),
        tfds_columns=_indexed(text="sentence"),
        tfds_name="glue/sst2",
        labels=_BINARY,
        recipe=_table_14(1e-5, 32, 20935, 1256),
    ),
    "mrpc": TextClassificationTask(
        columns=Columns("#1 String", "Quality", "#2 String"),
        tfds_columns=_indexed(text="sentence1", pair="sentence2"),
        tfds_name="glue/mrpc",
        labels=_BINARY,
        metrics_reported=("accuracy", "f1"),
        recipe=_table_14(2e-5, 32, 800, 200, starts_from="mnli"),
    ),
    "sts-b": TextClassificationTask(
        columns=Columns("sentence1", "score", "sentence2"),
        tfds_columns=Columns("sentence1", "label", "sentence2"),
        tfds_name="glue/stsb",
        labels=(),
        metrics_reported=("pearson", "spearman"),
        recipe=_table_14(2e-5, 16, 3598, 214, starts_from="mnli"),
    ),
    "qqp": TextClassificationTask(
        # The training file has a few incomplete rows, which the original skips too.
        columns=Columns("question1", "is_duplicate", "question2", skips_broken=True),
        tfds_columns=_indexed(text="question1", pair="question2"),
        tfds_name="glue/qqp",
        labels=_BINARY,
        metrics_reported=("accuracy", "f1"),
        recipe=_table_14(5e-5, 128, 14000, 1000, dropout=0.1),
    ),
    "mnli": TextClassificationTask(
        columns=Columns("sentence1", "gold_label", "sentence2"),
        tfds_columns=Columns("premise", "label", "hypothesis"),
        tfds_name="glue/mnli",
        files={
            "train": "train.tsv",
            "validation": "dev_matched.tsv",
            "validation_mismatched": "dev_mismatched.tsv",
            "test": "test_matched.tsv",
            "test_mismatched": "test_mismatched.tsv",
        },
        labels=_THREE_WAY,
        recipe=_table_14(3e-5, 128, 10000, 1000),
    ),
    "qnli": TextClassificationTask(
        columns=Columns("question", "label", "sentence"),
        tfds_name="glue/qnli",
        labels=_ENTAILMENT,
        recipe=_table_14(1e-5, 32, 33112, 1986),
    ),
    "rte": TextClassificationTask(
        columns=Columns("sentence1", "label", "sentence2"),
        tfds_name="glue/rte",
        labels=_ENTAILMENT,
        recipe=_table_14(3e-5, 32, 800, 200, dropout=0.1, starts_from="mnli"),
    ),
    "wnli": TextClassificationTask(
        columns=Columns("sentence1", "label", "sentence2"),
        tfds_columns=_indexed(text="sentence1", pair="sentence2"),
        tfds_name="glue/wnli",
        labels=_BINARY,
        recipe=_table_14(2e-5, 16, 2000, 250, dropout=0.1),
    ),
}
# Diagnostics without labels, predicted by a run of MNLI.
GLUE["ax"] = dataclasses.replace(
    GLUE["mnli"],
    columns=Columns("sentence1", "label", "sentence2"),
    tfds_name="glue/ax",
    files={"test": "AX.tsv"},
)

IMDB = TextClassificationTask(
    # A table, or the official folders `train/pos`, `train/neg`, ..., of text files.
    columns=Columns("text", "label"),
    tfds_name="imdb_reviews",
    # Without a validation set: the test set must not choose the checkpoint.
    files={"train": "train", "test": "test"},
    # Third parties report an accuracy of 0.921 for ALBERT-base v1 with three epochs and
    # AdamW's weight decay of 0.01. Head and tail: Sun et al. 2019, How to fine-tune BERT
    # for text classification, section 5.3.1.
    recipe=Recipe(2e-5, 32, num_epochs=3, sequence_length=512),
    long_texts="head_tail",
)


def _of_bert(sequence_length):
    """Returns BERT's usual recipe; models of a few layers need a rate of 1e-4."""
    return Recipe(sequence_length=sequence_length, learning_rate=2e-5, num_epochs=3)


CHINESE = {
    "chnsenticorp": TextClassificationTask(
        columns=Columns("text_a"), labels=_BINARY, recipe=_of_bert(256)
    ),
    "thucnews-titles": TextClassificationTask(
        columns=Columns("text", header=("text", "label")),
        files={"train": "train.txt", "validation": "dev.txt", "test": "test.txt"},
        recipe=_of_bert(48),
    ),
    "tnews": TextClassificationTask(
        columns=Columns("sentence"), files=_CLUE_FILES, recipe=_of_bert(128)
    ),
    "lcqmc": TextClassificationTask(
        columns=Columns("text_a", "label", "text_b"),
        labels=_BINARY,
        recipe=_of_bert(128),
    ),
    "afqmc": TextClassificationTask(
        columns=Columns("sentence1", "label", "sentence2"),
        files=_CLUE_FILES,
        labels=_BINARY,
        recipe=_of_bert(128),
    ),
    # With the columns `text` and `label`.
    "chinanews": TextClassificationTask(
        files={"train": "train.csv", "validation": "dev.csv", "test": "test.csv"},
        recipe=_of_bert(256),
    ),
}
