"""A finished `finetune` run, loaded to evaluate, to predict or to export."""

import argparse
import dataclasses

from albert_keras.cli.run_folder import model_folder, read_description
from albert_keras.cli.task_arguments import COLUMNS, configure_task
from albert_keras.tasks import Recipe
from albert_keras.tokenizers import load_tokenizer


def load_finetuned(folder, columns=None):
    """Loads the task and the model of a `finetune` run.

    Args:
        folder: str or path.
        columns: Namespace of `add_column_arguments`, for files with other columns than
            the run's, or `None`.

    Returns:
        Tuple of `FinetuningTask`, ready to prepare rows, and its model.

    Raises:
        FileNotFoundError: If `folder` is no run, or one that has not finished.
        ValueError: If it is a run of another kind.
    """
    description = read_description(folder)
    arguments = argparse.Namespace(**description["arguments"])
    if not hasattr(arguments, "task"):
        raise ValueError(
            f"The run must be one of `finetune`. Received: '{folder}', of another kind."
        )
    for name in COLUMNS:
        setattr(
            arguments,
            name,
            getattr(columns, name, None) or getattr(arguments, name, None),
        )
    # Of the files that were trained on, not of those to come.
    arguments.level = None
    task = configure_task(arguments.task, arguments)
    facts = {name: description[name] for name in task.facts}
    task = task.for_run(None, load_tokenizer(model_folder(folder)), **facts)
    task = dataclasses.replace(task, recipe=Recipe(**description["recipe"]))
    return task, task.load_model(model_folder(folder))
