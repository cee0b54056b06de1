"""Evaluation of and prediction with finished runs and exported models."""

import dataclasses
import json
import pathlib

from albert_keras.converters import load_checkpoint
from albert_keras.export import load_exported
from albert_keras.files import atomic_path
from albert_keras.pretraining import PretrainingTask
from albert_keras.runs.finetuning_config import ColumnOptions, FinetuningRunConfig
from albert_keras.runs.finetuning_task import configure_task
from albert_keras.runs.folder import RunFolder, model_folder, save_report
from albert_keras.runs.pretraining_config import PretrainingRunConfig
from albert_keras.runs.pretraining_data import check_data, ngram_losses
from albert_keras.tasks import Recipe, TextClassificationTask, majority_accuracy
from albert_keras.tasks.text_classification import Columns, label_ids
from albert_keras.tokenizers import load_tokenizer

NO_COLUMNS = ColumnOptions()

# Examples of a batch where nothing is trained.
BATCH_SIZE = 32


def load_finetuned(folder, columns=NO_COLUMNS):
    """Returns the `FinetuningTask`, ready to prepare rows, and the model of a run.

    Errors and arguments are those of `predict_with_run`.
    """
    description = RunFolder(folder).read()
    if description["kind"] != FinetuningRunConfig.kind:
        raise ValueError(
            "The run must be one of `finetune`. "
            f"Received: '{folder}', a run of kind {description['kind']!r}."
        )
    given = {n: c for n, c in dataclasses.asdict(columns).items() if c}
    tokenizer = load_tokenizer(model_folder(folder))
    try:
        config = FinetuningRunConfig.from_dict(
            description["config"], run=str(folder), **given
        )
        # The level of the files that were trained on, not of those to come.
        options = {k: v for k, v in config.task_options.items() if k != "level"}
        task = configure_task(dataclasses.replace(config, task_options=options))
        facts = {name: description[name] for name in task.facts}
        task = task.for_run(None, tokenizer, **facts)
        task = dataclasses.replace(task, recipe=Recipe(**description["recipe"]))
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"`run.json` must describe a fine-tuning run. Received: '{folder}', with "
            f"{error!r}. Repeat the run's command to write it again."
        ) from error
    return task, task.load_model(model_folder(folder))


def evaluate_run(
    folder, data, *, batch_size=BATCH_SIZE, columns=NO_COLUMNS, report=None
):
    """Returns the scores of the model of a finished run on held-out data, a dict.

    Args:
        folder: str or path of the run.
        data: str or path. A folder of `prepare-data` for a pretraining run; else a file
            of the task's rows.
        batch_size: int. Examples of a batch.
        columns: `ColumnOptions`, for files with other columns than the run's.
        report: str, path or None. Folder for `report.json` and the plot of confused
            classes of a fine-tuning run.

    Raises:
        FileNotFoundError: If `folder` is not a run, or one that has not finished.
        ValueError: If the data does not fit the run.
    """
    description = RunFolder(folder).read()
    if description["kind"] == PretrainingRunConfig.kind:
        return _evaluate_pretrained(folder, data, batch_size, description)
    task, model = load_finetuned(folder, columns)
    prepared = task.prepare(task.read(data))
    predictions = task.predict(model, prepared, batch_size)
    if report:
        save_report(report, task, prepared, predictions)
    return task.score(prepared, predictions)


def _evaluate_pretrained(folder, data, batch_size, description):
    model = load_checkpoint(model_folder(folder))
    tokenizer = load_tokenizer(model_folder(folder))
    check_data(data, tokenizer, model.backbone.albert_config)
    task = PretrainingTask(sentence_pairs=model.num_pair_classes > 0)
    results = task.evaluate(model, data, batch_size)
    # N-grams are counted in the training data, which may have been deleted.
    train_data = description.get("data")
    if train_data and pathlib.Path(train_data).exists():
        results |= ngram_losses(train_data, data, tokenizer)
    return results


def evaluate_exported(path, data, *, batch_size=BATCH_SIZE, columns=NO_COLUMNS):
    """Measures an exported classifier on a file of labelled texts.

    Args:
        path: str or path of a SavedModel folder or a TFLite file.
        data, batch_size, columns: As for `evaluate_run`.

    Returns:
        Dict: `accuracy`, `majority_accuracy`, `num_examples`.

    Raises:
        ValueError: If the model does not name its labels.
    """
    renamed = Columns().renamed(columns.text_column, columns.label_column)
    rows = TextClassificationTask(columns=renamed).read(data)
    outputs = load_exported(path).predict(rows.texts, batch_size=batch_size)
    if "label" not in outputs:
        raise ValueError(
            "An exported model must name its labels to be evaluated. "
            f"Received: '{path}', which gives {', '.join(outputs)}."
        )
    labels = outputs["label"].tolist()
    correct = sum(a == b for a, b in zip(labels, rows.labels, strict=True))
    targets = label_ids(rows.labels, sorted(set(rows.labels)))
    return {
        "accuracy": correct / len(labels),
        "majority_accuracy": majority_accuracy(targets),
        "num_examples": len(labels),
    }


def predict_with_run(
    folder,
    texts=None,
    *,
    data=None,
    batch_size=BATCH_SIZE,
    columns=NO_COLUMNS,
    output=None,
):
    """Predicts with the model of a finished fine-tuning run.

    Args:
        folder, batch_size, columns: As for `evaluate_run`.
        texts: List of str, or None.
        data: str, path or None. A file of the task's rows instead, without labels.
        output: str, path or None. File to write: `.jsonl`, a row a line; else the format
            of the task's server or script.

    Returns:
        List of dicts, as JSON can hold them: one per text or row.

    Raises:
        FileNotFoundError: If `folder` is not a run, or one that has not finished.
        ValueError: If the texts do not fit the task, or it has no other format.
    """
    task, model = load_finetuned(folder, columns)
    rows = task.read(data, needs_labels=False) if data else task.rows_of(texts)
    prepared = task.prepare(rows)
    predictions = task.predict(model, prepared, batch_size)
    described = task.describe(prepared, predictions)
    if output and pathlib.Path(output).suffix == ".jsonl":
        _write_json_lines(output, described)
    elif output:
        task.write_submission(output, prepared, predictions)
    return described


def predict_exported(path, texts, *, batch_size=BATCH_SIZE, output=None):
    """Predicts with an exported classifier.

    Args:
        path: str or path of a SavedModel folder or a TFLite file.
        texts: List of str.
        batch_size: int. Texts of a batch.
        output: str, path or None. File to write, `.jsonl`.

    Returns:
        List of dicts, one per text: `text` and the model's outputs.

    Raises:
        ValueError: If the model is not a classifier, or `output` not `.jsonl`.
    """
    if output and pathlib.Path(output).suffix != ".jsonl":
        raise ValueError(
            "Predictions of an exported model are JSON lines, in a file that ends in "
            f".jsonl. Received: '{output}'. A run of `finetune` writes other formats."
        )
    outputs = load_exported(path).predict(texts, batch_size=batch_size)
    if "logits" not in outputs:
        raise ValueError(
            "The model must be a classifier, which gives logits. "
            f"Received: '{path}', which gives {', '.join(outputs)}."
        )
    predictions = [
        {"text": text, **{name: v[row].tolist() for name, v in outputs.items()}}
        for row, text in enumerate(texts)
    ]
    if output:
        _write_json_lines(output, predictions)
    return predictions


def _write_json_lines(path, rows):
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
