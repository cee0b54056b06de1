"""Files of predictions, in the formats that benchmarks and their scripts read."""

import pathlib

import numpy as np

from albert_keras.checks import check_choice
from albert_keras.files import atomic_path, write_json
from albert_keras.tasks.metrics import check_finite_outputs
from albert_keras.tasks.multiple_choice.reading import LETTERS

_NUMBERS = ("0", "1")
_THREE = ("entailment", "neutral", "contradiction")
_TWO = ("entailment", "not_entailment")

# The files of a submission to gluebenchmark.com, and the answers in each; None are
# scores in [0, 5]. AX are the diagnostics, answered by a model for MNLI.
GLUE_ANSWERS = {
    "CoLA": _NUMBERS,
    "SST-2": _NUMBERS,
    "MRPC": _NUMBERS,
    "STS-B": None,
    "QQP": _NUMBERS,
    "MNLI-m": _THREE,
    "MNLI-mm": _THREE,
    "QNLI": _TWO,
    "RTE": _TWO,
    "WNLI": _NUMBERS,
    "AX": _THREE,
}
_GREATEST_SCORE = 5.0


def write_glue_predictions(folder, task_name, predictions):
    """Writes one task's file of a submission to the GLUE benchmark.

    The server wants all of them in one zip file.

    Args:
        folder: str or path. Where the file shall stand, such as `RTE.tsv`.
        task_name: str, of `GLUE_ANSWERS`.
        predictions: Sequence of an answer for each row of the test file, in its order:
            str as the training file has it; for STS-B a number, which is clipped to
            [0, 5].

    Returns:
        Path of the file.

    Raises:
        ValueError: If the task is unknown, there is no prediction, or one is no answer.
    """
    check_choice("task_name", task_name, GLUE_ANSWERS)
    if len(predictions) == 0:
        raise ValueError(
            "A file must hold a prediction. "
            f"Received: task_name={task_name!r}, without predictions."
        )
    answers = GLUE_ANSWERS[task_name]
    if answers is None:
        check_finite_outputs(predictions)
        clipped = np.clip(np.ravel(predictions), 0.0, _GREATEST_SCORE)
        predictions = [f"{value:.3f}" for value in clipped]
    for index, prediction in enumerate(predictions):
        if answers and prediction not in answers:
            raise ValueError(
                f"A prediction for {task_name} must be one of {', '.join(answers)}. "
                f"Received: {prediction!r} for row {index}."
            )
    path = pathlib.Path(folder) / f"{task_name}.tsv"
    rows = [("index", "prediction"), *enumerate(predictions)]
    _write_columns(path, rows)
    return path


def write_choices(path, predictions):
    """Writes predicted options as JSON, in letters as RACE has its answers.

    Args:
        path: str or path.
        predictions: Sequence of int, the position of an option for each question.
    """
    write_json(path, {"answers": [LETTERS[index] for index in predictions]})


def write_tagged(path, words, predictions, tags=None):
    r"""Writes predicted tags in columns, a word a line, an empty one after sentences.

    The columns are the word, the right tag if it is known, and the predicted one, as
    conlleval takes them (`conlleval -d '\t'`) and `read_tagged` does.

    Args:
        path: str or path.
        words: list of lists of str.
        predictions: list of lists of str, as long.
        tags: list of lists of str, as long, or None.

    Raises:
        ValueError: If a word holds a tab or ends a line, or rows are not as long.
    """
    columns = [words, predictions] if tags is None else [words, tags, predictions]
    rows = []
    for sentence in zip(*columns, strict=True):
        rows.extend([*zip(*sentence, strict=True), ()])
    for word, *_ in filter(None, rows):
        if any(mark in word for mark in "\t\r\n"):
            raise ValueError(
                "A word in columns must not hold a tab or the end of a line. "
                f"Received: {word!r}."
            )
    _write_columns(path, rows)


def _write_columns(path, rows):
    with atomic_path(path) as temporary:
        text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
        temporary.write_text(text, "utf-8")
