r"""Choose the exit rule of a run of `finetune --early-exit`, and store it in the run.

All rules are simulated on rows that the model was not trained on; their labels are not
read. The fastest is taken whose share of answers other than at full depth has an upper
bound within the budget; `evaluate`, `predict` and `export` then use it. Each rule is
compared with the same model cut at a fixed depth: one that does not beat it is not worth
its name. `evaluate` measures the chosen rule on labelled rows.

example:
  albert-keras finetune --task sst-2 --data GLUE/SST-2 --checkpoint runs/base \
      --early-exit joint --run runs/sst2
  albert-keras calibrate runs/sst2 --data held_out.tsv
"""

from albert_keras import runs
from albert_keras.cli.options import add_option, add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.runs.finetuning_config import (
    ROW_FIELDS,
    BatchOptions,
    CalibrationOptions,
    RowOptions,
)

USAGE = "RUN --data FILE [options]"


def add_arguments(parser):
    parser.add_argument("run_folder", help="folder of a run of `finetune --early-exit`")
    parser.add_argument(
        "--data", required=True, help="rows of the task that were not trained on"
    )
    add_options(parser, CalibrationOptions, ("max_changed", "confidence"), {})
    add_option(parser, BatchOptions, "batch_size")
    add_options(parser, RowOptions, (), {"files of rows": ROW_FIELDS})


def run(arguments):
    options = config_from(arguments, CalibrationOptions)
    results = runs.calibrate_run(
        arguments.run_folder,
        arguments.data,
        max_changed=options.max_changed,
        confidence=options.confidence,
        batch_size=arguments.batch_size,
        reading=config_from(arguments, RowOptions),
    )
    shown = results if arguments.json else brief(results)
    print_results("calibration", shown, arguments.json)


def brief(results):
    """Returns what to print for people: the chosen rule."""
    rule = results["rule"]["name"]
    names = ("mean_depth", "layer_ratio", "num_changed", "num_rows", "bound")
    shown = {"rule": rule, **{name: results[name] for name in names}}
    shown["beats_static_cut"] = results["beats_static_cut"]
    return shown
