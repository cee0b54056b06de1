"""Tasks on public data sets: GLUE, IMDB and Chinese ones."""

import dataclasses

from albert_keras.tasks.finetuning import Recipe, files_of
from albert_keras.tasks.text_classification.reading import Columns
from albert_keras.tasks.text_classification.task import (
    TextClassificationTask,
    TextRegressionTask,
)

# Labels are in the order of the original's logits.
_BINARY = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_PAIR = ("sentence1", "sentence2")
_SENTENCES = Columns(_PAIR[0], "label", _PAIR[1])

_CLUE_FILES = files_of("train.json", "dev.json", "test.json")

# Learning rate, batch size, steps and warm-up steps. Lan et al. 2020, table 14.
_TABLE_14 = {
    "cola": (1e-5, 16, 5336, 320),
    "sst-2": (1e-5, 32, 20935, 1256),
    "mrpc": (2e-5, 32, 800, 200),
    "sts-b": (2e-5, 16, 3598, 214),
    "qqp": (5e-5, 128, 14000, 1000),
    "mnli": (3e-5, 128, 10000, 1000),
    "qnli": (1e-5, 32, 33112, 1986),
    "rte": (3e-5, 32, 800, 200),
    "wnli": (2e-5, 16, 2000, 250),
}


def _glue(name, columns, dropout=0.0, starts_from=None, **options):
    """Returns the task of a data set of GLUE; all have the length 512 in table 14."""
    kind = TextRegressionTask
    if name != "sts-b":
        kind, options = TextClassificationTask, {"labels": _BINARY, **options}
    recipe = Recipe(
        *_TABLE_14[name], sequence_length=512, dropout=dropout, starts_from=starts_from
    )
    tfds_name = f"glue/{name.replace('-', '')}"
    return kind(recipe, tfds_name=tfds_name, columns=columns, **options)


def _indexed(text, pair=None):
    """Returns TFDS columns with numbers as labels, like GLUE's files; TFDS has names."""
    return Columns(text, pair=pair, label_is_index=True)


GLUE = {
    "cola": _glue(
        "cola",
        # The files have no header.
        Columns("sentence", header=("source", "label", "mark", "sentence")),
        tfds_columns=_indexed("sentence"),
        metrics_reported=("matthews", "accuracy"),
    ),
    "sst-2": _glue("sst-2", Columns("sentence"), tfds_columns=_indexed("sentence")),
    "mrpc": _glue(
        "mrpc",
        Columns("#1 String", "Quality", "#2 String"),
        tfds_columns=_indexed(*_PAIR),
        starts_from="mnli",
        metrics_reported=("accuracy", "f1"),
    ),
    "sts-b": _glue(
        "sts-b",
        Columns("sentence1", "score", "sentence2"),
        tfds_columns=_SENTENCES,
        starts_from="mnli",
    ),
    "qqp": _glue(
        "qqp",
        # The training file has a few incomplete rows, which the original skips too.
        Columns("question1", "is_duplicate", "question2", skips_broken=True),
        tfds_columns=_indexed("question1", "question2"),
        dropout=0.1,
        metrics_reported=("accuracy", "f1"),
    ),
    "mnli": _glue(
        "mnli",
        Columns("sentence1", "gold_label", "sentence2"),
        tfds_columns=Columns("premise", "label", "hypothesis"),
        labels=("contradiction", "entailment", "neutral"),
        files={
            "train": "train.tsv",
            "validation": "dev_matched.tsv",
            "validation_mismatched": "dev_mismatched.tsv",
            "test": "test_matched.tsv",
            "test_mismatched": "test_mismatched.tsv",
        },
    ),
    "qnli": _glue("qnli", Columns("question", "label", "sentence"), labels=_ENTAILMENT),
    "rte": _glue(
        "rte", _SENTENCES, dropout=0.1, starts_from="mnli", labels=_ENTAILMENT
    ),
    "wnli": _glue("wnli", _SENTENCES, tfds_columns=_indexed(*_PAIR), dropout=0.1),
}
# Diagnostics without labels, which a run of MNLI predicts.
GLUE["ax"] = dataclasses.replace(
    GLUE["mnli"], columns=_SENTENCES, tfds_name="glue/ax", files={"test": "AX.tsv"}
)

IMDB = TextClassificationTask(
    # A table, or the official folders of text files `train/pos`, `train/neg`, ...
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


def _chinese(columns, sequence_length, **options):
    """Returns a task with BERT's usual recipe. Small models need a rate of 1e-4."""
    recipe = Recipe(sequence_length=sequence_length, learning_rate=2e-5, num_epochs=3)
    return TextClassificationTask(recipe, columns=columns, **options)


CHINESE = {
    "chnsenticorp": _chinese(Columns("text_a"), 256, labels=_BINARY),
    "thucnews-titles": _chinese(
        Columns("text", header=("text", "label")),
        48,
        files=files_of("train.txt", "dev.txt", "test.txt"),
    ),
    "tnews": _chinese(Columns("sentence"), 128, files=_CLUE_FILES),
    "lcqmc": _chinese(Columns("text_a", "label", "text_b"), 128, labels=_BINARY),
    "afqmc": _chinese(_SENTENCES, 128, files=_CLUE_FILES, labels=_BINARY),
    "chinanews": _chinese(
        Columns("text", "label"),
        256,
        files=files_of("train.csv", "dev.csv", "test.csv"),
    ),
}
