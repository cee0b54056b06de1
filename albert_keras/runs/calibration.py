"""Calibration of the exits of a finished fine-tuning run."""

import numpy as np

from albert_keras.compression import calibrate, logits_at, simulate_exits
from albert_keras.compression.exit_inference import EveryDepth, check_has_exits
from albert_keras.runs.finetuning_config import BATCH_SIZE, RowOptions
from albert_keras.runs.folder import RunFolder
from albert_keras.runs.inference import load_finetuned
from albert_keras.runs.rows import read_rows
from albert_keras.system.files import write_json


def calibrate_run(
    folder,
    data,
    *,
    test_data=None,
    max_changed=0.01,
    confidence=0.95,
    batch_size=BATCH_SIZE,
    reading=None,
):
    """Chooses the exit rule of a finished run, and stores it with its model.

    Evaluation, prediction and exports then use it. The results are also written to
    `calibration.json` in the run's folder.

    Args:
        folder: str or path of a run of `finetune --early-exit`.
        data: str or path. Rows of the task that the model was not trained on; labels are
            not read.
        test_data: str or path, or `None`. Other rows, with labels, on which each rule
            and each fixed depth is measured.
        max_changed, confidence: As for `compression.calibrate`.
        batch_size: int. Examples of a batch.
        reading: `RowOptions`, or `None`, for files with other columns than the run's.

    Returns:
        Dict: `rule`, the fields of the `ExitRule`; its `mean_depth`, `layer_ratio`
        (layers of full depth over those of a mean row), `num_changed` (answers other
        than at full depth), `bound` (upper bound of their share) and
        `beats_static_cut`; `num_rows`; `rules` with the fastest of each kind;
        `static_cut`, the share of changed answers of the model cut at each depth; and
        with `test_data` `test`, see `score_rules`.

    Raises:
        ValueError: If the run has no exits, or there are too few rows.
    """
    task, model = load_finetuned(folder, reading or RowOptions())
    check_has_exits(model)

    def logits_of(prepared):
        return task.example_outputs(EveryDepth(model), prepared.examples, batch_size)

    prepared = task.prepare(read_rows(task, data, needs_labels=False))
    calibration = calibrate(
        logits_of(prepared), max_changed=max_changed, confidence=confidence
    )
    results = describe_calibration(calibration)
    if test_data is not None:
        prepared = task.prepare(read_rows(task, test_data))
        rules = {name: m.rule for name, m in calibration.fastest.items()}
        results["test"] = score_rules(task, prepared, logits_of(prepared), rules)
    model.exit_rule = calibration.chosen.rule.to_dict()
    run = RunFolder(folder)
    with run.claimed():
        run.save_model(model, task.tokenizer)
        write_json(run.path / "calibration.json", results)
    return results


def score_rules(task, prepared, logits, rules):
    """Returns the task's main score of rules and of fixed depths, on labelled rows.

    Args:
        task: `FinetuningTask` of texts.
        prepared: Its `PreparedRows`.
        logits: float array `(num_examples, num_layers, num_classes)`.
        rules: Dict of `ExitRule`.

    Returns:
        Dict: `metric`; `static_cut`, the score at each depth, the last of which is full
        depth; `rules`, by name a dict of `mean_depth`, `score`, and `static_score`, that
        of fixed depths with the same mean.
    """

    def score(exits):
        predictions = task.of_rows(prepared, logits_at(logits, exits))
        return float(task.score(prepared, predictions)[task.main_metric])

    depths = range(1, logits.shape[1] + 1)
    static = [score(depth) for depth in depths]
    measured = {}
    for name, rule in rules.items():
        exits = simulate_exits(rule, logits)
        measured[name] = {
            "mean_depth": float(exits.mean()),
            "score": score(exits),
            "static_score": float(np.interp(exits.mean(), depths, static)),
        }
    return {
        "metric": task.main_metric,
        "static_cut": _by_depth(static),
        "rules": measured,
    }


def describe_calibration(calibration):
    """Returns a `Calibration` as `calibrate_run` does, without `test`."""
    return {
        **_described(calibration, calibration.chosen),
        "num_rows": calibration.num_rows,
        "rules": {
            name: _described(calibration, measured)
            for name, measured in calibration.fastest.items()
        },
        "static_cut": _by_depth(calibration.static_shares.tolist()),
    }


def _described(calibration, measured):
    return {
        "rule": measured.rule.to_dict(),
        "mean_depth": measured.mean_depth,
        "layer_ratio": len(calibration.static_shares) / measured.mean_depth,
        "num_changed": measured.num_changed,
        "bound": measured.bound,
        "beats_static_cut": calibration.beats_static_cut(measured),
    }


def _by_depth(values):
    return {str(depth): value for depth, value in enumerate(values, start=1)}
