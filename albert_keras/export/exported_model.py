"""Prediction with exported models, the same for all formats."""

import dataclasses

import numpy as np

from albert_keras.checks import check_positive_integer
from albert_keras.export import associated_files, signatures
from albert_keras.preprocessors.texts import pack_texts
from albert_keras.tasks import (
    MultiLabelTask,
    PreparedRows,
    TextClassificationTask,
    TextRegressionTask,
)
from albert_keras.tasks.metrics import log_probabilities
from albert_keras.text import in_text_batches


class ExportedModel:
    """An exported model, loaded for prediction.

    Args:
        task: Task of the samples; for classes, numbers and vectors a `TextTask`.
        run: Function from rows of the task, a batch size and whether to return
            `sequence_output`, to the task's predictions, or for a `TextTask` to a dict of
            NumPy arrays `(num_rows, ...)`.
    """

    def __init__(self, task, run):
        self.task, self.run = task, run

    def predict(self, samples, batch_size=32, *, all_positions=False):
        """Returns predictions for samples.

        Args:
            samples: List, as for `LoadedModel.predict`.
            batch_size: int. Samples of a batch, on average. Batches hold texts of similar
                length and have about the same number of characters.
            all_positions: bool. Whether a backbone returns `sequence_output` too, of
                shape `(num_samples, length, hidden_dim)`, with zeros after the tokens of
                a batch. It is large. Default False.

        Returns:
            For text classifiers, regression, embedders and backbones a dict of NumPy
            arrays `(num_samples, ...)`. A classifier has `logits`, `probabilities` and,
            if labels were exported, `label` (str); regression has `logits` and `score`;
            an embedder has `embedding`; a backbone has `pooled_output` and, if the graph
            takes text, `mean_output`, both `(num_samples, hidden_dim)`. For other heads,
            and for classifiers that read more than the beginnings of texts, the list of
            dicts of `load_run(...).predict`.

        Raises:
            TypeError, ValueError: If a sample does not fit the task.
        """
        check_positive_integer("batch_size", batch_size)
        rows = self.task.rows_of(samples)
        found = self.run(rows, batch_size, all_positions)
        if isinstance(found, dict):
            return found
        return self.task.describe(PreparedRows(rows, None), found)

    def predict_rows(self, rows, batch_size):
        """Returns predictions for rows of the task, as for a run.

        Returns:
            Tuple of the task, its predictions, and exit depths or `None`. The labels of a
            classifier without names of classes are numbers.

        Raises:
            ValueError: If the model has no scores, such as a backbone.
        """
        found = self.run(rows, batch_size)
        if not isinstance(found, dict):
            return self.task, found, None
        logits, probabilities = found.get("logits"), found.get("probabilities")
        outputs = probabilities if logits is None else logits
        if outputs is None or outputs.ndim != 2:
            raise ValueError(
                "The model must be a classifier or a regression of texts. "
                f"Received: one that gives {', '.join(found)}."
            )
        if probabilities is None or outputs.shape[1] == 1:
            # A number, or the probability of a single class.
            task = TextRegressionTask(columns=self.task.columns)
        else:
            labels = self.task.labels or map(str, range(outputs.shape[1]))
            task = dataclasses.replace(self.task, labels=tuple(labels))
            if task.several_labels:
                outputs = probabilities
            elif logits is None:
                outputs = log_probabilities(probabilities)
        return task, outputs, found.get("exit_depth")


def load_beside(path, folder, run, inputs, names=()):
    """Returns the `ExportedModel` of a graph and the files beside it.

    Args:
        path: str or path of the model, for errors.
        folder: str or path of its associated files.
        run: Function from a dict of inputs and the name of a signature, by default the
            first, to a dict of NumPy arrays. Inputs are int32 arrays, or lists of str or
            of lists of str.
        inputs: Dict from the names of the first signature's inputs to their shapes. Axes
            of any size are not positive integers.
        names: Names of the signatures that take text.

    Raises:
        ValueError: If the graph takes neither text nor ids of a tokenizer beside it.
    """
    tokenizer = associated_files.read_tokenizer(folder)
    kind, task = associated_files.read_task(folder, tokenizer)
    # Text signatures of kinds in TFLite files of version 0.2.0 are no longer read.
    if kind is not None and kind.signature in names:
        return _of_a_kind(kind, task, run)
    if kind is None and inputs and {*inputs} <= {*signatures.TEXT_INPUTS}:

        def call(columns):
            name = (signatures.PAIR_SIGNATURE,) if len(columns) > len(inputs) else ()
            return run(dict(zip(signatures.TEXT_INPUTS, columns, strict=False)), *name)

        takes_both = signatures.PAIR_SIGNATURE in names
        return _of_texts(folder, call, len(inputs) == 2, takes_both)
    if "token_ids" in inputs and tokenizer is not None:
        run, length = _with_sizes(run, inputs["token_ids"])
        if task is not None:
            return _of_ids(task, run)
        packing = associated_files.read_packing(folder)
        if packing is not None:
            longest, takes_pairs = packing
            call = _packed(run, tokenizer.encoder, length or longest)
            return _of_texts(folder, call, takes_pairs, True)
    raise ValueError(
        "An exported model must take text, or have a tokenizer and a preprocessor or a "
        f"task beside it, to predict from text. Received: path={str(path)!r} with inputs "
        f"{', '.join(inputs) or 'unknown'}. Export a model that has a preprocessor."
    )


def _of_a_kind(kind, task, run):
    """Returns the model of a graph that answers text like a task of `TEXT_KINDS`."""

    def call(columns):
        return run(dict(zip(kind.inputs, columns, strict=True)), kind.signature)

    def run_rows(rows, batch_size, all_positions=False):
        outputs = in_text_batches(call, kind.columns(rows), batch_size)
        return kind.predictions(task, rows, outputs)

    return ExportedModel(task, run_rows)


def _of_ids(task, run):
    """Returns the model of a graph of ids, which the task makes."""

    def forward(features):
        outputs = run(features)
        _check_labels(getattr(task, "labels", None), outputs)
        # The Keras model of a classifier returns one output alone.
        return outputs.get("logits", outputs.get("probabilities", outputs))

    def run_rows(rows, batch_size, all_positions=False):
        return task.predict(forward, task.prepare(rows), batch_size)

    return ExportedModel(task, run_rows)


def _packed(run, encoder, sequence_length):
    """Returns a function from a list of texts, or of texts and pairs, to outputs."""

    def call(columns):
        # Python is faster than a graph for few texts.
        examples = pack_texts(encoder, *columns, sequence_length=sequence_length)
        rows = np.arange(examples.num_examples)
        return run(examples.padded(rows, examples.lengths.max()))

    return call


def _of_texts(folder, call, takes_pairs, takes_both):
    """Returns the model of a graph that gives classes, numbers or vectors of texts.

    `call` is a function from a list of texts, or of texts and second texts, to outputs.
    """
    labels, several_hold = associated_files.read_labels(folder)
    kind = MultiLabelTask if several_hold else TextClassificationTask
    takes = {"pair": takes_pairs, "optional_pair": takes_both}
    task = kind(labels=labels and tuple(labels)).with_columns(
        **{name: signatures.TEXT_INPUTS[1] for name in takes if takes[name]}
    )

    def run_rows(rows, batch_size, all_positions=False):
        columns = [rows.texts] if rows.pairs is None else [rows.texts, rows.pairs]
        if len(columns) > 1 and not any(takes.values()):
            raise ValueError("The model takes single texts. Received: pairs of texts.")

        def call_batch(columns):
            outputs = call(columns)
            # It is as long as the longest text, and large.
            if not all_positions:
                outputs.pop("sequence_output", None)
            return outputs

        outputs = in_text_batches(call_batch, columns, batch_size)
        _check_labels(task.labels, outputs)
        if task.labels and not several_hold and "probabilities" in outputs:
            best = outputs["probabilities"].argmax(axis=-1)
            outputs.setdefault("label", np.array(task.labels)[best])
        return outputs

    return ExportedModel(task, run_rows)


def _check_labels(labels, outputs):
    found = outputs.get("probabilities")
    if labels and found is not None and len(labels) != found.shape[-1]:
        raise ValueError(
            "An exported model must have a label for each class. Received: "
            f"{len(labels)} labels, {found.shape[-1]} classes."
        )


def _with_sizes(run, shape):
    """Returns a function of any number of rows of any length, and the fixed length.

    The fixed length is `None` if `run` takes any. `shape` is that of its `token_ids`.
    """
    num_rows, *_, length = (
        size if isinstance(size, int) and size > 0 else None for size in shape
    )
    if num_rows is not None:
        run = in_parts(run, num_rows)

    def run_padded(features):
        return run({n: _padded(n, values, length) for n, values in features.items()})

    return run_padded, length


def in_parts(run, num_rows):
    """Returns a function of any number of rows that calls `run` on `num_rows` at a time.

    Both map a dict of arrays to a dict of arrays. Copies fill up the last rows.
    """

    def part_of(values, start):
        part = values[start : start + num_rows]
        return np.resize(part, (num_rows, *values.shape[1:]))

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
    # Inputs of positions have another axis.
    if length is None or name.endswith("_positions"):
        return values
    # Ids have no effect where the mask is 0.
    room = length - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, room)])
