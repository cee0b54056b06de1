"""Tasks on public data sets: recipes of table 14, and the official files."""

import pytest

from albert_keras.tasks import TASKS

# Lan et al. 2020, table 14: rate, batch, dropout, steps, warm-up, length if not 512.
TABLE_14 = {
    "squad": (5e-5, 48, 0.0, 3649, 365, 384),
    "squad2": (3e-5, 48, 0.0, 8144, 814),
    "race": (2e-5, 32, 0.1, 12000, 1000),
    "cola": (1e-5, 16, 0.0, 5336, 320),
    "sts-b": (2e-5, 16, 0.0, 3598, 214),
    "sst-2": (1e-5, 32, 0.0, 20935, 1256),
    "mnli": (3e-5, 128, 0.0, 10000, 1000),
    "qnli": (1e-5, 32, 0.0, 33112, 1986),
    "qqp": (5e-5, 128, 0.1, 14000, 1000),
    "rte": (3e-5, 32, 0.1, 800, 200),
    "mrpc": (2e-5, 32, 0.0, 800, 200),
    "wnli": (2e-5, 16, 0.1, 2000, 250),
}

# File, rows, first label, and how often the label occurs, counted by other programs.
FILES = {
    "cola": ("CoLA/dev.tsv", 1043, "1", 719),
    "sst-2": ("SST-2/dev.tsv", 872, "1", 444),
    "mrpc": ("MRPC/dev.tsv", 1725, "1", 1147),
    "sts-b": ("STS-B/dev.tsv", 1500, "5.000", 34),
    "qqp": ("QQP/train.tsv", 9372, "0", 5981),
    "mnli": ("MNLI/dev_matched.tsv", 1000, "entailment", 347),
    "qnli": ("QNLI/dev.tsv", 5463, "entailment", 2702),
    "rte": ("RTE/dev.tsv", 277, "not_entailment", 131),
    "wnli": ("WNLI/dev.tsv", 71, "0", 40),
}


@pytest.mark.parametrize("name", TABLE_14)
def test_recipes_are_the_papers(name):
    rate, batch, dropout, steps, warmup, *length = TABLE_14[name]
    recipe = TASKS[name].recipe
    assert (recipe.learning_rate, recipe.batch_size) == (rate, batch)
    assert (recipe.dropout, recipe.classifier_dropout) == (dropout, 0.1)
    assert recipe.steps_for(10**6) == (steps, warmup)
    assert recipe.sequence_length == (length or [512])[0]
    starts = "mnli" if name in ("rte", "mrpc", "sts-b") else None
    assert recipe.starts_from == starts


# QQP's cells are quoted, and the original keeps the quotes too.
@pytest.mark.filterwarnings("ignore:TSV is read without quoting")
@pytest.mark.parametrize("name", FILES)
def test_official_files_of_glue(shared, name):
    file, num_rows, first, count = FILES[name]
    task = TASKS[name]
    rows = task.read(shared / "data" / "glue" / file)
    assert len(rows.texts) == num_rows
    assert (rows.labels[0], rows.labels.count(first)) == (first, count)
    assert (rows.pairs is None) == (name in ("cola", "sst-2"))
    assert name == "sts-b" or set(rows.labels) == set(task.labels)
