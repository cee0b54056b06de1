"""Prediction with a model of ids, by the tokenizer and the task beside it."""

import numpy as np

from albert_keras.export.associated_files import (
    is_of_texts,
    read_labels,
    read_text_preprocessor,
    read_tokenizer,
    write_associated_files,
)
from albert_keras.export.signatures import (
    TextPredictor,
    check_vocabulary,
    own_preprocessor,
)
from albert_keras.export.text.kinds import (
    read_task,
    read_task_of_ids,
    task_beside,
    write_task,
)
from albert_keras.export.text.predictor import RowPredictor
from albert_keras.preprocessors.texts import pack_texts
from albert_keras.train_step import RuntimeModel


class IdsPredictor(RowPredictor):
    """An exported model of ids loaded for prediction: samples in, answers of a task out.

    Args:
        description: Dict, the content of `TASK_FILE`.
        tokenizer: A tokenizer of this package.
        run: Function from a dict of int32 arrays `(batch, ...)` to one of outputs.
    """

    def __init__(self, description, tokenizer, run):
        self.description = description
        self.task = read_task_of_ids(description, tokenizer)
        self.labels = getattr(self.task, "labels", None)
        self.run = run
        self.model = RuntimeModel(lambda features: _of_a_model(run(features)))

    def predict_rows(self, rows, batch_size):
        """Returns predictions for rows of the task, as its own `predict` does."""
        return self.task.predict(self.model, self.task.prepare(rows), batch_size)


def write_beside(folder, model, labels, task=None, preprocessor=None):
    """Writes what `load_beside` reads: labels, preprocessor, and the task that makes ids.

    Args:
        folder: str or path.
        model: One of our models.
        labels: List of str, or `None`.
        task: Task of the model. Default: that of its preprocessor.
        preprocessor: keras-hub `Preprocessor`. Default: the model's own, if it has one.

    Raises:
        ValueError: If the model lacks embeddings for some pieces of the tokenizer.
    """
    preprocessor = preprocessor or own_preprocessor(model)
    tokenizer = getattr(task or preprocessor, "tokenizer", None)
    if tokenizer is not None:
        check_vocabulary(model, tokenizer)
    task = task_beside(model, tokenizer, task)
    tokenizer = getattr(task, "tokenizer", None)
    write_associated_files(folder, model, labels, preprocessor, tokenizer)
    if task is not None:
        write_task(folder, task, is_of_ids=True)


def load_beside(folder, run, shape=(None, None), has_classes=True):
    """Returns the predictor of a model of ids, or `None` if there is no tokenizer.

    Args:
        folder: str or path of its associated files.
        run: Function from a dict of int32 arrays `(batch, ...)` to one of outputs.
        shape: Shape of `token_ids`; an axis of free size has no positive integer.
        has_classes: bool. Whether the outputs are those of classes with labels.

    Returns:
        `IdsPredictor`, or of a classifier of beginnings a `TextPredictor`.
    """
    tokenizer = read_tokenizer(folder)
    if tokenizer is None:
        return None

    num_rows, *_, length = (
        size if isinstance(size, int) and size > 0 else None for size in shape
    )
    if num_rows is not None:
        run = in_parts(run, num_rows)

    def run_padded(features):
        return run({n: _padded(n, values, length) for n, values in features.items()})

    description = read_task(folder)
    if description is not None:
        return IdsPredictor(description, tokenizer, run_padded)
    if not is_of_texts(folder):
        return None
    preprocess = read_text_preprocessor(folder, length)
    encoder, longest = preprocess.tokenizer.encoder, preprocess.sequence_length

    def predict_batch(*segments):
        # In Python, which is quicker than a graph for few texts.
        examples = pack_texts(encoder, *segments, sequence_length=longest)
        rows = np.arange(examples.num_examples)
        return run_padded(examples.padded(rows, examples.lengths.max()))

    classes = read_labels(folder) if has_classes else (None, False)
    return TextPredictor(predict_batch, classes, preprocess.takes_pairs, True)


def in_parts(run, num_rows):
    """Returns a function on any number of rows, of one that takes so many at a time.

    Both are from a dict of arrays to one. The last rows are filled up with copies.
    """

    def part_of(values, start):
        return np.resize(
            values[start : start + num_rows], (num_rows, *values.shape[1:])
        )

    def run_parts(inputs):
        num_all = len(next(iter(inputs.values())))
        parts = [
            run({name: part_of(values, start) for name, values in inputs.items()})
            for start in range(0, num_all, num_rows)
        ]
        return {n: np.concatenate([p[n] for p in parts])[:num_all] for n in parts[0]}

    return run_parts


def _padded(name, values, length):
    """Returns int32 inputs, padded at the end to a length if there is one."""
    values = np.asarray(values, "int32")
    # Other inputs hold places in the sequence.
    if length is None or name.endswith("_positions"):
        return values
    # Where the mask is 0, the ids do not count.
    room = length - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, room)])


def _of_a_model(outputs):
    """Returns the outputs as the Keras model gives them: without what was added."""
    for name in ("logits", "probabilities"):
        if name in outputs:
            return outputs[name]
    return outputs
