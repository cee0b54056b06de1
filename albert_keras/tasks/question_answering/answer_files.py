"""Files of answers in the formats of the official scripts of SQuAD and CMRC."""

import pathlib

from albert_keras.files import write_json
from albert_keras.tasks.question_answering.decoding import apply_threshold


def write_answers(folder, answers, threshold=None):
    """Writes answers to three JSON files of objects by question id.

    `predictions.json` has the texts, the format of a submission; `null_odds.json` the
    null scores, for `--na-prob-file`; `nbest_predictions.json` lists of the candidates'
    `text`, `probability` and `score`. Files are complete or absent.

    Args:
        folder: str or path, which is created.
        answers: list of `Answer`.
        threshold: float, or None; see `apply_threshold`.

    Raises:
        ValueError: If there are no answers, or the threshold is not a number.
    """
    folder = pathlib.Path(folder)
    predictions = apply_threshold(answers, threshold)
    if not predictions:
        raise ValueError(
            f"A file must hold an answer. Received: folder='{folder}', no answers."
        )
    candidates = {
        answer.id: [
            {"text": c.text, "probability": c.probability, "score": c.score}
            for c in answer.candidates
        ]
        for answer in answers
    }
    write_json(folder / "null_odds.json", {a.id: a.null_score for a in answers})
    write_json(folder / "nbest_predictions.json", candidates)
    # Last: it shows that the others are complete.
    write_json(folder / "predictions.json", predictions)
