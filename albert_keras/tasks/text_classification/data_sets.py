"""Tasks on public data sets: GLUE, IMDB and Chinese ones."""

import dataclasses

from albert_keras.tasks.recipe import Recipe
from albert_keras.tasks.text_classification.reading import Columns
from albert_keras.tasks.text_classification.task import (
    TextClassificationTask,
    TextRegressionTask,
)

# Labels are in the order of the original's logits.
_BINARY = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_SENTENCES = Columns("sentence1", "label", "sentence2")

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


def _glue(name, columns, tfds_columns, recipe, labels=_BINARY, **others):
    return TextClassificationTask(
        columns=columns,
        tfds_columns=tfds_columns,
        tfds_name=f"glue/{name}",
        labels=labels,
        recipe=recipe,
        **others,
    )


def _indexed(**columns):
    # TFDS has names for these classes, GLUE's files numbers.
    return Columns(label_is_index=True, **columns)


GLUE = {
    "cola": _glue(
        "cola",
        # The files have no header.
        Columns("sentence", header=("source", "label", "mark", "sentence")),
        _indexed(text="sentence"),
        _table_14(1e-5, 16, 5336, 320),
        metrics_reported=("matthews", "accuracy"),
    ),
    "sst-2": _glue(
        "sst2",
        Columns("sentence"),
        _indexed(text="sentence"),
        _table_14(1e-5, 32, 20935, 1256),
    ),
    "mrpc": _glue(
        "mrpc",
        Columns("#1 String", "Quality", "#2 String"),
        _indexed(text="sentence1", pair="sentence2"),
        _table_14(2e-5, 32, 800, 200, starts_from="mnli"),
        metrics_reported=("accuracy", "f1"),
    ),
    "sts-b": TextRegressionTask(
        columns=Columns("sentence1", "score", "sentence2"),
        tfds_columns=_SENTENCES,
        tfds_name="glue/stsb",
        recipe=_table_14(2e-5, 16, 3598, 214, starts_from="mnli"),
    ),
    "qqp": _glue(
        "qqp",
        # The training file has a few incomplete rows, which the original skips too.
        Columns("question1", "is_duplicate", "question2", skips_broken=True),
        _indexed(text="question1", pair="question2"),
        _table_14(5e-5, 128, 14000, 1000, dropout=0.1),
        metrics_reported=("accuracy", "f1"),
    ),
    "mnli": _glue(
        "mnli",
        Columns("sentence1", "gold_label", "sentence2"),
        Columns("premise", "label", "hypothesis"),
        _table_14(3e-5, 128, 10000, 1000),
        labels=("contradiction", "entailment", "neutral"),
        files={
            "train": "train.tsv",
            "validation": "dev_matched.tsv",
            "validation_mismatched": "dev_mismatched.tsv",
            "test": "test_matched.tsv",
            "test_mismatched": "test_mismatched.tsv",
        },
    ),
    "qnli": _glue(
        "qnli",
        Columns("question", "label", "sentence"),
        None,
        _table_14(1e-5, 32, 33112, 1986),
        labels=_ENTAILMENT,
    ),
    "rte": _glue(
        "rte",
        _SENTENCES,
        None,
        _table_14(3e-5, 32, 800, 200, dropout=0.1, starts_from="mnli"),
        labels=_ENTAILMENT,
    ),
    "wnli": _glue(
        "wnli",
        _SENTENCES,
        _indexed(text="sentence1", pair="sentence2"),
        _table_14(2e-5, 16, 2000, 250, dropout=0.1),
    ),
}
# Diagnostics without labels, predicted by a run of MNLI.
GLUE["ax"] = dataclasses.replace(
    GLUE["mnli"], columns=_SENTENCES, tfds_name="glue/ax", files={"test": "AX.tsv"}
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
        columns=_SENTENCES,
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
