"""Evaluation of and prediction with finished runs and exported models."""

import dataclasses
import json
import pathlib

from albert_keras.converters import load_checkpoint
from albert_keras.export import is_exported, load_exported
from albert_keras.export.signatures import TEXT_INPUTS
from albert_keras.files import atomic_path
from albert_keras.pretraining import PretrainingTask
from albert_keras.runs.finetuning_config import (
    BATCH_SIZE,
    ColumnOptions,
    FinetuningRunConfig,
)
from albert_keras.runs.finetuning_task import configure_task
from albert_keras.runs.folder import RunFolder, model_folder, save_report
from albert_keras.runs.pretraining_config import PretrainingRunConfig
from albert_keras.runs.pretraining_data import check_data, ngram_losses
from albert_keras.tasks import Recipe, TextClassificationTask, majority_accuracy
from albert_keras.tasks.text_classification import Columns, label_ids
from albert_keras.tokenizers import load_tokenizer

NO_COLUMNS = ColumnOptions()


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
    """Returns the scores of a finished run, or an exported classifier, on held-out data.

    Args:
        folder: str or path of the run, or of a SavedModel or TFLite file.
        data: str or path. A folder of `prepare-data` for a pretraining run; a file of
            labelled texts for an exported model; else a file of the task's rows.
        batch_size: int. Examples of a batch.
        columns: `ColumnOptions`, for files with other columns than the run's.
        report: str, path or None. Folder for `report.json` and the plot of confused
            classes of a fine-tuning run.

    Raises:
        FileNotFoundError: If `folder` is not a run, or one that has not finished.
        ValueError: If the data does not fit the run, or an exported model does not name
            its labels.
    """
    if is_exported(folder):
        return _evaluate_exported(folder, data, batch_size, columns)
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


def _evaluate_exported(path, data, batch_size, columns):
    predictor = load_exported(path)
    if predictor.takes_pairs != bool(columns.pair_column):
        raise ValueError(
            "Models of pairs, and no others, need the column of the second text, "
            f"`--pair-column`. Received: '{path}', which takes "
            f"{'pairs' if predictor.takes_pairs else 'single texts'}, and "
            f"pair_column={columns.pair_column!r}."
        )
    names = columns.text_column, columns.label_column, columns.pair_column
    task = TextClassificationTask(columns=Columns().renamed(*names))
    rows = task.read(data)
    outputs = predictor.predict(task.text_keys(rows), batch_size=batch_size)
    if "label" not in outputs:
        raise ValueError(
            "An exported model must name its labels to be evaluated. "
            f"Received: '{path}', which gives {', '.join(outputs)}."
        )
    labels = outputs["label"].tolist()
    correct = sum(a == b for a, b in zip(labels, rows.labels, strict=True))
    # SavedModels of earlier versions do not list their labels.
    targets = label_ids(rows.labels, predictor.labels or sorted(set(rows.labels)))
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
    """Predicts with a finished fine-tuning run, or with an exported classifier.

    Args:
        folder, batch_size, columns: As for `evaluate_run`.
        texts: List of str, or None.
        data: str, path or None. A file of the task's rows instead, without labels.
        output: str, path or None. File to write: `.jsonl`, a row a line; of a run also
            the format of the task's server or script.

    Returns:
        List of dicts, as JSON can hold them: one per text or row.

    Raises:
        FileNotFoundError: If `folder` is not a run, or one that has not finished.
        ValueError: If the texts do not fit the task, it has no other format, or an
            exported model is no classifier.
    """
    writes_lines = output and pathlib.Path(output).suffix == ".jsonl"
    if is_exported(folder):
        if output and not writes_lines:
            raise ValueError(
                "Predictions of an exported model are JSON lines, in a file that ends in "
                f".jsonl. Received: '{output}'. A run of `finetune` writes other formats."
            )
        described = _predict_exported(folder, texts, batch_size)
    else:
        task, model = load_finetuned(folder, columns)
        rows = task.read(data, needs_labels=False) if data else task.rows_of(texts)
        prepared = task.prepare(rows)
        predictions = task.predict(model, prepared, batch_size)
        described = task.describe(prepared, predictions)
    if writes_lines:
        with (
            atomic_path(output) as temporary,
            temporary.open("w", encoding="utf-8") as file,
        ):
            for row in described:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    elif output:
        task.write_submission(output, prepared, predictions)
    return described


def _predict_exported(path, texts, batch_size):
    if texts is None:
        raise ValueError(
            "An exported model predicts texts, not rows of a file. "
            f"Received: no texts for '{path}'."
        )
    predictor = load_exported(path)
    task = TextClassificationTask(
        columns=Columns(pair=TEXT_INPUTS[1] if predictor.takes_pairs else None)
    )
    rows = task.rows_of(texts)
    outputs = predictor.predict(task.text_keys(rows), batch_size=batch_size)
    if not {"logits", "probabilities"} & outputs.keys():
        raise ValueError(
            "The model must be a classifier, which gives logits or probabilities. "
            f"Received: '{path}', which gives {', '.join(outputs)}."
        )
    columns = {"text": rows.texts}
    if predictor.takes_pairs:
        columns["text_pair"] = rows.pairs
    columns |= {name: values.tolist() for name, values in outputs.items()}
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
