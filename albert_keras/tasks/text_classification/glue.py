"""Tasks of the GLUE benchmark: columns, files and recipes."""

from albert_keras.tasks.recipe import Recipe
from albert_keras.tasks.text_classification.reading import Columns
from albert_keras.tasks.text_classification.task import TextClassificationTask

_BINARY = ("0", "1")
# In the order of the original's logits.
_ENTAILMENT = ("entailment", "not_entailment")
_THREE_WAY = ("contradiction", "entailment", "neutral")

_MNLI_FILES = {
    "train": "train.tsv",
    "validation": "dev_matched.tsv",
    "validation_mismatched": "dev_mismatched.tsv",
    "test": "test_matched.tsv",
    "test_mismatched": "test_mismatched.tsv",
}


def _recipe(learning_rate, batch_size, num_steps, warmup_steps, **others):
    """Returns a row of table 14; classifier dropout is 0.1 and length 512 in all rows."""
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


COLA = TextClassificationTask(
    # The files have no header.
    columns=Columns("sentence", header=("source", "label", "mark", "sentence")),
    tfds_columns=_indexed(text="sentence"),
    tfds_name="glue/cola",
    labels=_BINARY,
    metrics_reported=("matthews", "accuracy"),
    recipe=_recipe(1e-5, 16, 5336, 320),
)

SST2 = TextClassificationTask(
    columns=Columns("sentence"),
    tfds_columns=_indexed(text="sentence"),
    tfds_name="glue/sst2",
    labels=_BINARY,
    recipe=_recipe(1e-5, 32, 20935, 1256),
)

MRPC = TextClassificationTask(
    columns=Columns("#1 String", "Quality", "#2 String"),
    tfds_columns=_indexed(text="sentence1", pair="sentence2"),
    tfds_name="glue/mrpc",
    labels=_BINARY,
    metrics_reported=("accuracy", "f1"),
    recipe=_recipe(2e-5, 32, 800, 200, starts_from="mnli"),
)

STSB = TextClassificationTask(
    columns=Columns("sentence1", "score", "sentence2"),
    tfds_columns=Columns("sentence1", "label", "sentence2"),
    tfds_name="glue/stsb",
    labels=(),
    metrics_reported=("pearson", "spearman"),
    recipe=_recipe(2e-5, 16, 3598, 214, starts_from="mnli"),
)

QQP = TextClassificationTask(
    # The training file has a few incomplete rows, which the original skips too.
    columns=Columns("question1", "is_duplicate", "question2", skips_broken=True),
    tfds_columns=_indexed(text="question1", pair="question2"),
    tfds_name="glue/qqp",
    labels=_BINARY,
    metrics_reported=("accuracy", "f1"),
    recipe=_recipe(5e-5, 128, 14000, 1000, dropout=0.1),
)

MNLI = TextClassificationTask(
    columns=Columns("sentence1", "gold_label", "sentence2"),
    tfds_columns=Columns("premise", "label", "hypothesis"),
    tfds_name="glue/mnli",
    files=_MNLI_FILES,
    labels=_THREE_WAY,
    recipe=_recipe(3e-5, 128, 10000, 1000),
)

QNLI = TextClassificationTask(
    columns=Columns("question", "label", "sentence"),
    tfds_name="glue/qnli",
    labels=_ENTAILMENT,
    recipe=_recipe(1e-5, 32, 33112, 1986),
)

RTE = TextClassificationTask(
    columns=Columns("sentence1", "label", "sentence2"),
    tfds_name="glue/rte",
    labels=_ENTAILMENT,
    recipe=_recipe(3e-5, 32, 800, 200, dropout=0.1, starts_from="mnli"),
)

WNLI = TextClassificationTask(
    columns=Columns("sentence1", "label", "sentence2"),
    tfds_columns=_indexed(text="sentence1", pair="sentence2"),
    tfds_name="glue/wnli",
    labels=_BINARY,
    recipe=_recipe(2e-5, 16, 2000, 250, dropout=0.1),
)

# Diagnostics without labels, predicted by a run of MNLI.
AX = TextClassificationTask(
    columns=Columns("sentence1", "label", "sentence2"),
    tfds_columns=Columns("premise", "label", "hypothesis"),
    tfds_name="glue/ax",
    files={"test": "AX.tsv"},
    labels=_THREE_WAY,
    recipe=MNLI.recipe,
)

GLUE = {
    "cola": COLA,
    "sst-2": SST2,
    "mrpc": MRPC,
    "sts-b": STSB,
    "qqp": QQP,
    "mnli": MNLI,
    "qnli": QNLI,
    "rte": RTE,
    "wnli": WNLI,
    "ax": AX,
}
