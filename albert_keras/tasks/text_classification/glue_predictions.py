"""Writer of prediction files for the server of the GLUE benchmark."""

import numpy as np

from albert_keras.system.files import atomic_path

_THREE = ("entailment", "neutral", "contradiction")

# The files of a submission to gluebenchmark.com, and their possible answers. None stands
# for scores in [0, 5]. AX are the diagnostics, which a model for MNLI predicts.
GLUE_ANSWERS = {
    **dict.fromkeys(("CoLA", "SST-2", "MRPC", "QQP", "WNLI"), ("0", "1")),
    **dict.fromkeys(("QNLI", "RTE"), ("entailment", "not_entailment")),
    **dict.fromkeys(("MNLI-m", "MNLI-mm", "AX"), _THREE),
    "STS-B": None,
}


def write_glue_predictions(path, predictions):
    """Writes the predictions of one task. A submission is a zip file of all tasks' files.

    Args:
        path: `pathlib.Path` of the file, named like `RTE.tsv`.
        predictions: Sequence of an answer for each row of the test file, in its order:
            labels as in the training file, or for STS-B numbers, clipped to [0, 5].

    Raises:
        ValueError: If a prediction is not one of the task's answers.
    """
    answers = GLUE_ANSWERS[path.stem]
    if answers is None:
        if labels := [each for each in predictions if isinstance(each, str)]:
            raise ValueError(
                "STS-B.tsv must have the numbers of a regression. "
                f"Received: labels, the first one {labels[0]!r}."
            )
        predictions = [f"{value:.3f}" for value in np.clip(predictions, 0.0, 5.0)]
    for index, prediction in enumerate(predictions):
        if answers and prediction not in answers:
            raise ValueError(
                f"A prediction for {path.stem} must be one of {', '.join(answers)}. "
                f"Received: {prediction!r} for row {index}."
            )
    lines = ["index\tprediction", *(f"{i}\t{p}" for i, p in enumerate(predictions))]
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join(lines) + "\n", "utf-8")
