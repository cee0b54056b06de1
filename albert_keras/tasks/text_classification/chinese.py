"""Chinese tasks on single texts and pairs: columns, files and recipes."""

from albert_keras.tasks.recipe import Recipe
from albert_keras.tasks.text_classification.reading import Columns
from albert_keras.tasks.text_classification.task import TextClassificationTask

_CLUE_FILES = {"train": "train.json", "validation": "dev.json", "test": "test.json"}
_TEXT_FILES = {"train": "train.txt", "validation": "dev.txt", "test": "test.txt"}


def _recipe(sequence_length):
    """Returns BERT's usual recipe; models of a few layers need a rate of 1e-4."""
    return Recipe(sequence_length=sequence_length, learning_rate=2e-5, num_epochs=3)


CHINESE = {
    "chnsenticorp": TextClassificationTask(
        columns=Columns("text_a"), labels=("0", "1"), recipe=_recipe(256)
    ),
    "thucnews-titles": TextClassificationTask(
        columns=Columns("text", header=("text", "label")),
        files=_TEXT_FILES,
        recipe=_recipe(48),
    ),
    "tnews": TextClassificationTask(
        columns=Columns("sentence"), files=_CLUE_FILES, recipe=_recipe(128)
    ),
    "lcqmc": TextClassificationTask(
        columns=Columns("text_a", "label", "text_b"),
        labels=("0", "1"),
        recipe=_recipe(128),
    ),
    "afqmc": TextClassificationTask(
        columns=Columns("sentence1", "label", "sentence2"),
        files=_CLUE_FILES,
        labels=("0", "1"),
        recipe=_recipe(128),
    ),
    # With the columns `text` and `label`.
    "chinanews": TextClassificationTask(
        files={"train": "train.csv", "validation": "dev.csv", "test": "test.csv"},
        recipe=_recipe(256),
    ),
}
