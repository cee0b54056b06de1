"""Calibration of the exits of a finished run."""

from albert_keras.compression import calibrate
from albert_keras.compression.exit_inference import check_has_exits
from albert_keras.runs.finetuning_config import BATCH_SIZE, RowOptions
from albert_keras.runs.folder import RunFolder
from albert_keras.runs.inference import load_finetuned
from albert_keras.runs.rows import read_rows
from albert_keras.system.files import write_json


def calibrate_run(folder, data, *, batch_size=BATCH_SIZE, reading=None, **options):
    """Chooses the exit rule of a finished run, and saves it in the run's model.

    Evaluation, prediction and exports then use it. The results are also in
    `calibration.json` in the run's folder.

    Args:
        folder: str or path of a run of `finetune --early-exit`.
        data: str or path. Rows of the task that the model was not trained on. Labels are
            not needed.
        batch_size: int. Examples of a batch.
        reading: `RowOptions`, or `None`, for files with other columns than the run's.
        **options: `max_changed` and `confidence`, as for `compression.calibrate`.

    Returns:
        Dict: `rule`, the fields of the `ExitRule`; its `mean_depth`, `layer_ratio` (all
        layers divided by the mean depth), `num_changed` (answers that differ from full
        depth), `bound` (upper bound of their share) and `beats_static_cut`; `num_rows`;
        `rules`, the fastest rule of each kind; and `static_cut`, the share of changed
        answers of the model cut at each depth.

    Raises:
        ValueError: If the run has no exits, or there are too few rows.
    """
    task, model = load_finetuned(folder, reading or RowOptions())
    check_has_exits(model)
    examples = task.prepare(read_rows(task, data, needs_labels=False)).examples
    logits = task.example_outputs(model.exit_logits, examples, batch_size)
    calibration = calibrate(logits, **options)
    results = {
        **_described(calibration, calibration.chosen),
        "num_rows": calibration.num_rows,
        "rules": {
            name: _described(calibration, measured)
            for name, measured in calibration.fastest.items()
        },
        "static_cut": {
            str(depth): share
            for depth, share in enumerate(calibration.static_shares.tolist(), start=1)
        },
    }
    model.exit_rule = calibration.chosen.rule.to_dict()
    run = RunFolder(folder)
    with run.claimed():
        run.save_model(model, task.tokenizer)
        write_json(run.path / "calibration.json", results)
    return results


def _described(calibration, measured):
    return {
        "rule": measured.rule.to_dict(),
        "mean_depth": measured.mean_depth,
        "layer_ratio": len(calibration.static_shares) / measured.mean_depth,
        "num_changed": measured.num_changed,
        "bound": measured.bound,
        "beats_static_cut": calibration.beats_static_cut(measured),
    }
