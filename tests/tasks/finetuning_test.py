"""What fine-tuning tasks share: batches of like length, and one to pad to."""

import dataclasses

import numpy as np

from albert_keras.tasks import TASKS, FinetuningTask, Recipe, TextClassificationTask
from albert_keras.tasks.text_classification import LabelledTexts

ROWS = LabelledTexts(
    ["good bread " * n for n in (1, 2, 3, 9, 12, 14)], ["0", "1", "0", "1", "0", "1"]
)


def make_task(tokenizer):
    task = TextClassificationTask(recipe=Recipe(sequence_length=53))
    return task.for_run(ROWS, tokenizer)


def test_batches_by_length_hold_what_padded_ones_do(tokenizer):
    task = make_task(tokenizer)
    prepared = task.prepare(ROWS)
    by_length = task.make_dataset(prepared, 2, seed=4)
    shapes = {tuple(x["token_ids"].shape) for x, _ in by_length.take(30)}
    assert len({length for _, length in shapes}) > 1
    padded = task.make_dataset(prepared, 2, seed=4, by_length=False)
    assert padded.element_spec[0]["token_ids"].shape == (2, 53)
    texts = [seen(dataset.take(60)) for dataset in (by_length, padded)]
    assert texts[0] == texts[1]
    assert len(texts[0]) == 6


def seen(dataset):
    """Returns the rows of batches without padding, each once."""
    rows = set()
    for features, labels in dataset:
        for ids, mask, label in zip(
            features["token_ids"].numpy(),
            features["padding_mask"].numpy(),
            labels.numpy(),
            strict=True,
        ):
            rows.add((tuple(ids[mask == 1].tolist()), int(label)))
    return rows


def test_outputs_come_back_with_their_rows(tokenizer):
    task = make_task(tokenizer)
    examples = task.prepare(ROWS).examples

    class LengthModel:
        """Gives each row's number of tokens."""

        def __call__(self, features, training=False):
            return features["padding_mask"]

    rows, outputs = zip(*task.outputs(LengthModel(), examples, 2), strict=True)
    assert sorted(np.concatenate(rows)) == [*range(6)]
    for row, output in zip(rows, outputs, strict=True):
        assert np.array_equal(output.sum(-1), examples.lengths[row])


def test_all_tasks_are_complete():
    for name, task in TASKS.items():
        assert isinstance(task, FinetuningTask), name
        assert {field.name for field in dataclasses.fields(task)} >= {"recipe", "files"}
        assert name in ("ax",) or "train" in task.files
