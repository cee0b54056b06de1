"""Scores and times of the variants of fine-tuned models, for a choice among them."""

import functools
import pathlib
import tempfile

from albert_keras.analysis.figures import run_name
from albert_keras.analysis.interleaving import (
    measure_in_turn,
    medians,
    processor_seconds,
)
from albert_keras.analysis.pareto import pareto_front
from albert_keras.checks import check_different
from albert_keras.compression import EarlyExit, ExitRule
from albert_keras.export import export_saved_model, export_tflite, load_exported
from albert_keras.export.signatures import text_preprocessor
from albert_keras.runs.finetuning_config import BATCH_SIZE
from albert_keras.runs.inference import AS_IN_THE_RUN, load_finetuned
from albert_keras.runs.reporting import note
from albert_keras.runs.rows import read_rows
from albert_keras.tasks import PreparedRows
from albert_keras.tasks.text_classification.base import TextTask

# Kind, writer and its options of each exported form.
EXPORTED = {
    "SavedModel": ("SavedModel", export_saved_model, {}),
    "TFLite float32": ("TFLite", export_tflite, {}),
    "TFLite float16": ("TFLite", export_tflite, {"quantization": "float16"}),
    "TFLite int8": ("TFLite", export_tflite, {"quantization": "int8"}),
}

NUM_ROUNDS, NUM_TIMED_ROWS = 5, 128


def measure_pareto(
    folders,
    data,
    *,
    batch_size=BATCH_SIZE,
    num_rounds=NUM_ROUNDS,
    num_timed_rows=NUM_TIMED_ROWS,
    reading=AS_IN_THE_RUN,
):
    """Measures the variants of a fine-tuned run, and other runs beside it.

    Those of the first run are: the model itself; with exits, the model cut at each depth
    and its calibrated rule; and its exported forms, which take text and have the rule.
    All begin with raw text. They are timed in turn, so that a busy machine slows all of
    them alike.

    Args:
        folders: List of str or path. Runs of `finetune` or `distill` of one task, of
            texts.
        data: str or path. Rows of the task, with labels.
        batch_size: int. Examples of a batch.
        num_rounds: int. Rounds of which the median time is taken.
        num_timed_rows: int. Rows that are timed, the first ones; all are scored.
        reading: `RowOptions`, for files with other columns than the runs'.

    Returns:
        Dict: `metric`, the task's own; `num_rows`, `num_timed_rows`, `batch_size`;
        `variants`, a list of dicts of `name`, `run`, `kind`, `score`, `milliseconds` (of
        processor time a row), with exits `mean_depth`, and of exported forms `bytes`;
        and `front`, the names of those that no other one beats, from fast to slow.

    Raises:
        ValueError: If a run is of another task, or of none of texts.

    Example:

    ```python
    results = ak.measure_pareto(["runs/sst2", "runs/student"], "SST-2/dev.tsv")
    ak.plot_pareto(results, "pareto.png")
    ```
    """
    runs = [load_finetuned(folder, reading) for folder in folders]
    task = runs[0].task
    _check_runs(folders, runs)
    rows = read_rows(task, data)
    timed_rows = task.rows_of(task.text_keys(rows)[:num_timed_rows])
    with tempfile.TemporaryDirectory() as temporary:
        found = [*_variants_of(folders[0], runs[0], batch_size, temporary)]
        for folder, run in zip(folders[1:], runs[1:], strict=True):
            found.append(_variant(folder, run_name(folder), "run", run, batch_size))
        for about, predict in found:
            about |= _scores(task, *predict(rows))
        timed = {
            about["name"]: functools.partial(
                processor_seconds, functools.partial(predict, timed_rows)
            )
            for about, predict in found
        }
        # Each shape takes more time at its first use.
        _, *rounds = measure_in_turn(timed, 1 + num_rounds)
        seconds = medians(rounds)
    variants, num_timed = [about for about, _ in found], len(timed_rows.texts)
    for about in variants:
        about["milliseconds"] = 1000 * seconds[about["name"]] / num_timed
    return {
        "metric": task.main_metric,
        "num_rows": len(rows.texts),
        "num_timed_rows": num_timed,
        "batch_size": batch_size,
        "variants": variants,
        "front": pareto_front(variants),
    }


def _scores(task, prepared, predictions, exit_depths):
    scores = {"score": float(task.score(prepared, predictions)[task.main_metric])}
    if exit_depths is not None:
        scores["mean_depth"] = float(exit_depths.mean())
    return scores


def _check_runs(folders, runs):
    first = runs[0].task
    check_different("runs", [run_name(folder) for folder in folders])
    for folder, (task, _) in zip(folders, runs, strict=True):
        if not isinstance(task, TextTask):
            raise ValueError(
                "The variants of classifiers and regressions of texts are measured. "
                f"Received: '{folder}', a run of {type(task).__name__}."
            )
        if task.run_facts() != first.run_facts() or type(task) is not type(first):
            raise ValueError(
                "The runs must be of one task, with the same labels. Received: "
                f"'{folder}', which differs from '{folders[0]}'."
            )


def _variants_of(folder, run, batch_size, temporary):
    """Yields what is known of each variant of a run, a dict, and how it predicts."""
    name = run_name(folder)
    model = run.model
    if not hasattr(model, "exit_logits"):
        yield _variant(folder, name, "run", run, batch_size)
    else:
        depths = range(1, model.backbone.num_layers + 1)
        *cuts, full = [ExitRule("fixed_depth", min_depth=depth) for depth in depths]
        yield _variant(folder, name, "run", run, batch_size, full)
        for rule in cuts:
            cut = f"{rule.min_depth} of {len(depths)} layers"
            yield _variant(folder, cut, "fixed depth", run, batch_size, rule)
        if model.exit_rule:
            rule = ExitRule.from_dict(model.exit_rule)
            title = f"exit by {rule.name.replace('_', ' ')}"
            yield _variant(folder, title, "exit rule", run, batch_size, rule)
    if text_preprocessor(model) is None:
        note(
            f"'{folder}' is measured without its exported forms, which take text: it "
            "classifies more than the beginnings of texts"
        )
        return
    for title, (kind, write, options) in EXPORTED.items():
        path = pathlib.Path(temporary, title)
        num_bytes = write(model, path, **options).num_bytes
        about = {"name": title, "run": str(folder), "kind": kind, "bytes": num_bytes}
        yield about, exported_prediction(run.task, load_exported(path), batch_size)


def _variant(folder, name, kind, run, batch_size, rule=None):
    if hasattr(run.model, "exit_logits"):
        # Compiled once.
        rule = EarlyExit(run.model, rule)

    def predict(rows):
        prepared = run.task.prepare(rows)
        predicted = run.predict_rows(prepared, batch_size, rule)
        return prepared, predicted.predictions, predicted.exit_depths

    return {"name": name, "run": str(folder), "kind": kind}, predict


def exported_prediction(task, predictor, batch_size):
    """Returns how an exported model predicts rows of a task of texts.

    Args:
        task: `TextTask`.
        predictor: What `load_exported` returns.
        batch_size: int. Rows of a batch.

    Returns:
        Function of rows that returns their `PreparedRows`, predictions and exit depths.
    """

    def predict(rows):
        outputs = predictor.predict(task.text_keys(rows), batch_size=batch_size)
        found = outputs.get("logits", outputs.get("probabilities"))
        return PreparedRows(rows, None), found, outputs.get("exit_depth")

    return predict
