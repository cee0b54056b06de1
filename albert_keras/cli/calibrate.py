r"""Choose the exit rule of a run of `finetune --early-exit`, and save it in the run.

Simulates all rules on rows that the model was not trained on; labels are not needed.
Compared with full depth, a rule changes some answers. The command picks the fastest rule
that, with the given confidence, changes at most the share --max-changed. `evaluate`,
`predict` and `export` then use this rule. The command also compares each rule with the
same model cut at a fixed depth. If a rule is not better than that, do not use it.
`evaluate` measures the chosen rule on labeled rows.

example:
  albert-keras finetune --task sst-2 --data GLUE/SST-2 --checkpoint runs/base \
      --early-exit joint --run runs/sst2
  albert-keras calibrate runs/sst2 --data held_out.tsv
"""

from albert_keras import runs
from albert_keras.cli.options import add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.runs.finetuning_config import (
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
    for options in (CalibrationOptions, BatchOptions, RowOptions):
        add_options(parser, options)


def run(arguments):
    options = config_from(arguments, CalibrationOptions)
    results = runs.calibrate_run(
        arguments.run_folder,
        arguments.data,
        **vars(options),
        batch_size=arguments.batch_size,
        reading=config_from(arguments, RowOptions),
    )
    shown = results if arguments.json else brief(results)
    print_results("calibration", shown, arguments.json)


def brief(results):
    """Returns the results about the chosen rule, for people."""
    shown = {n: value for n, value in results.items() if not isinstance(value, dict)}
    return {"rule": results["rule"]["name"], **shown}
