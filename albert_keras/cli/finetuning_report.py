"""What a fine-tuning leaves for people: a report, and a plot of what is confused."""

import importlib.util
import pathlib

from albert_keras.analysis import plot_confusion_matrix
from albert_keras.files import write_json


def save_report(folder, task, prepared, predictions):
    """Writes `report.json`, and of classes the plot of their confusion.

    Args:
        folder: str or path of the run.
        task: `FinetuningTask`.
        prepared: `PreparedRows` of held-out rows.
        predictions: What `task.predict` returned of them.
    """
    report = {
        "scores": task.score(prepared, predictions),
        **task.report(prepared, predictions),
    }
    folder = pathlib.Path(folder)
    write_json(folder / "report.json", report)
    if "confusion_matrix" in report and importlib.util.find_spec("matplotlib"):
        plot_confusion_matrix(report, folder / "confusion_matrix.png")
