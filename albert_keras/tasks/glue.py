"""Tasks of the GLUE benchmark, in the column layout of its files."""

from albert_keras.tasks.base import Recipe
from albert_keras.tasks.text_classification import TextClassificationTask

SST2 = TextClassificationTask(
    text_column="sentence",
    label_column="label",
    labels=("0", "1"),
    # Lan et al. 2020, table 14.
    recipe=Recipe(
        learning_rate=1e-5,
        batch_size=32,
        num_steps=20935,
        warmup_steps=1256,
        sequence_length=512,
    ),
)
