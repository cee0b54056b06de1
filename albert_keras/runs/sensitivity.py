"""What exits, quantization and pruning of heads cost a fine-tuned run."""

import pathlib
import tempfile

from albert_keras.analysis.figures import run_name
from albert_keras.compression import (
    EarlyExit,
    ExitRule,
    ShallowModel,
    attention_heads,
    masked_heads,
)
from albert_keras.export import load_exported
from albert_keras.export.signatures import text_preprocessor
from albert_keras.runs.finetuning_config import BATCH_SIZE
from albert_keras.runs.inference import AS_IN_THE_RUN, load_finetuned
from albert_keras.runs.pareto import EXPORTED, exported_prediction
from albert_keras.runs.reporting import note
from albert_keras.runs.rows import read_rows
from albert_keras.tasks.text_classification.base import TextTask

# Forms of `EXPORTED`, of which the first is what the others are compared with.
QUANTIZED = ("TFLite float32", "TFLite float16", "TFLite int8")


def measure_sensitivity(
    folder, data, *, batch_size=BATCH_SIZE, reading=AS_IN_THE_RUN, quantize=True
):
    """Measures the score of a fine-tuned run that is cut, quantized or pruned.

    - Depth: the run's exits at each depth, or without exits its first layers alone, with
      the head that was trained on the last one.
    - Quantization: TFLite files, which begin with text. Their cost is the difference from
      the file in float32.
    - Attention heads: each masked alone; then one after another, those first that cost
      least alone. Layers that share their attention share its heads, and a head is
      masked in all of them.

    Args:
        folder: str or path. Run of `finetune` or `distill`.
        data: str or path. Rows of the task, with labels.
        batch_size: int. Examples of a batch.
        reading: `RowOptions`, for files with other columns than the run's.
        quantize: bool. Whether to measure TFLite files.

    Returns:
        Dict: `run`, `metric`, `num_rows`, `score` at full depth, `has_exits`; and lists
        of dicts with `score` and `cost`, the score that is lost: `depths` with `depth`;
        `quantization` with `name` and `bytes`; `heads` with `layers` and `head`; and
        `pruned` with `num_heads`, and `layers` and `head` of the last one masked.

    Raises:
        FileNotFoundError: If the run has not finished, or a file is absent.
        ValueError: If the run is not one of `finetune`.

    Example:

    ```python
    results = ak.measure_sensitivity("runs/sst2", "SST-2/dev.tsv")
    ak.plot_sensitivity(results, "sensitivity.png")
    ```

    Reference: Michel et al. 2019, Are sixteen heads really better than one?
    """
    run = load_finetuned(folder, reading)
    measured = _Measured(run, read_rows(run.task, data), batch_size)
    full = measured.at_depth(run.model.backbone.num_layers)
    heads, pruned = _prune(measured, full)
    return {
        "run": run_name(folder),
        "metric": run.task.main_metric,
        "num_rows": len(run.task.text_keys(measured.prepared.rows)),
        "score": full,
        "has_exits": measured.has_exits,
        "depths": _cut(measured, full),
        "quantization": _quantize(measured, folder) if quantize else [],
        "heads": heads,
        "pruned": pruned,
    }


class _Measured:
    """A run and the rows that its variants are scored on."""

    def __init__(self, run, rows, batch_size):
        self.run, self.batch_size = run, batch_size
        self.prepared = run.task.prepare(rows)
        self.has_exits = hasattr(run.model, "exit_logits")
        # By depth, so that each is compiled once.
        self.cuts = {}

    def at_depth(self, depth):
        """Returns the score of the model that is cut at a depth, from 1."""
        task, model = self.run
        if depth not in self.cuts:
            rule = ExitRule("fixed_depth", min_depth=depth)
            is_exit = self.has_exits
            self.cuts[depth] = (
                EarlyExit(model, rule) if is_exit else ShallowModel(model, depth)
            )
        if self.has_exits:
            predicted = self.run.predict_rows(
                self.prepared, self.batch_size, self.cuts[depth]
            )
            return self.score(self.prepared, predicted.predictions)
        predictions = task.predict(self.cuts[depth], self.prepared, self.batch_size)
        return self.score(self.prepared, predictions)

    def score(self, prepared, predictions):
        """Returns the task's own metric of predictions."""
        task = self.run.task
        return float(task.score(prepared, predictions)[task.main_metric])


def _cut(measured, full):
    num_layers = measured.run.model.backbone.num_layers
    scores = [*map(measured.at_depth, range(1, num_layers)), full]
    return [
        {"depth": depth, "score": score, "cost": full - score}
        for depth, score in enumerate(scores, start=1)
    ]


def _quantize(measured, folder):
    task, model = measured.run
    if not isinstance(task, TextTask) or text_preprocessor(model) is None:
        note(
            f"'{folder}' is measured without TFLite files: they are of classifiers and "
            "regressions of the beginnings of texts"
        )
        return []
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        for name in QUANTIZED:
            _, write, options = EXPORTED[name]
            path = pathlib.Path(temporary, name)
            num_bytes = write(model, path, **options).num_bytes
            predict = exported_prediction(
                task, load_exported(path), measured.batch_size
            )
            prepared, predictions, _ = predict(measured.prepared.rows)
            score = measured.score(prepared, predictions)
            cost = found[0]["score"] - score if found else 0.0
            found.append(
                {"name": name, "bytes": num_bytes, "score": score, "cost": cost}
            )
    return found


def _prune(measured, full):
    """Returns the scores without each head, and without more and more of them."""
    backbone = measured.run.model.backbone
    heads = attention_heads(backbone)

    def without(masked):
        with masked_heads(masked):
            score = measured.at_depth(backbone.num_layers)
        last = {"layers": list(masked[-1].layers), "head": masked[-1].head}
        return {**last, "score": score, "cost": full - score}

    alone = [without([head]) for head in heads]
    order = sorted(range(len(heads)), key=lambda place: alone[place]["cost"])
    # The first one was measured alone.
    pruned = [{"num_heads": 1, **alone[order[0]]}]
    for number in range(2, len(heads) + 1):
        masked = [heads[place] for place in order[:number]]
        pruned.append({"num_heads": number, **without(masked)})
    return alone, pruned
