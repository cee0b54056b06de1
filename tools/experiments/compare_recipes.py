#!/usr/bin/env python3
"""Compares changes of a pretraining recipe, each alone, for equal core-minutes.

Every arm is the base recipe with one change. Its steps are chosen so that a run takes as
many minutes of one core as every other one, by the measured time of a step. Runs of one
seed begin with the same weights. The output folder gets `table.md`, `results.json` and a
plot of the differences from the base recipe: their means over the seeds, and standard
errors. When called again, it resumes.

All are measured on the same held-out pairs of sentences in order or swapped: nats of a
masked token, and the accuracy of the order where the arm learned that. With `--task`, all
are fine-tuned too, with the same options.

example:
  tools/experiments/compare_recipes.py --data tokens --validation-data held \
      --output comparison --tokenizer albert_nano_en --minutes 15 \
      --arms base "not grown" ternary --task sst-2=GLUE/SST-2
"""

import argparse
import json
import pathlib
import sys
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.analysis.figures import finish_figure, new_figure
from albert_keras.pretraining.phases import Phase
from albert_keras.runs.reporting import note
from albert_keras.tasks import TASKS
from tools.experiments import harness
from tools.experiments.compare_with_random import task_and_data
from tools.experiments.harness import NATS, Measure

RATE, WARMUP = "0.002", 0.03
SHORT = "batch_size=64,sequence_length=32,masking=token"
LONG = "batch_size=32"
# Shares of the time on short rows, where the layer is applied once, twice, each time.
GROWN = (
    (0.25, f"{SHORT},num_layers=1"),
    (0.15, f"{SHORT},num_layers=2"),
    (0.2, SHORT),
)


class Arm(NamedTuple):
    """A recipe: phases with their shares of the time, and further options."""

    about: str
    phases: tuple = (*GROWN, (0.4, LONG))
    options: tuple = ()


ARMS = {
    "base": Arm(
        "rows of 32 for 60 % of the time, 1, 2, 3 applications; then rows of 128"
    ),
    "not grown": Arm("3 applications from the start", ((0.6, SHORT), (0.4, LONG))),
    "batch ramp": Arm(
        "batches of 32 long rows, then 64",
        (*GROWN, (0.2, LONG), (0.2, "batch_size=64")),
    ),
    "ternary": Arm("three classes of pairs", options=("--sentence-pairs", "ternary")),
    "distant": Arm("distant pairs", options=("--sentence-pairs", "distant")),
    "hardest pairs": Arm("the hardest half", options=("--hardest-pairs", "0.5")),
    "no pairs": Arm("masked words alone", options=("--sentence-pairs", "none")),
    "muon": Arm("Muon", options=("--optimizer", "muon")),
}
MEASURES = {
    "mlm_loss": Measure("nats", **NATS),
    "sop_accuracy": Measure("orders right"),
    "task_score": Measure("fine-tuned"),
}
FINETUNING = (
    *("--num-steps", "600", "--steps-per-evaluation", "600", "--batch-size", "32"),
    *("--sequence-length", "64", "--learning-rate", "1e-3", "--no-collapse-guard"),
)
# Options with which an experiment that is resumed may differ.
CHANGEABLE = ("output", "workers", "seeds", "arms")


def main(argv=None):
    """Runs the missing runs and writes the comparison."""
    arguments = parse(argv)
    config = {k: v for k, v in vars(arguments).items() if k not in CHANGEABLE}
    results = harness.read_results(arguments.output, config, arguments.arms)
    for name in arguments.arms:
        if name not in results["phases"]:
            results["phases"][name] = phases_of(arguments, name)
            write_comparison(arguments, results)

    def train(name, seed):
        run = arguments.output / name / f"seed-{seed}"
        words = command(arguments, name, results["phases"][name], seed)
        harness.run_on_one_core([*words, "--run", run])
        return run

    def measure(name, seed, run):
        found = harness.measure_pretrained(run, arguments.validation_data)
        figures = {key: found[key] for key in MEASURES if key in found}
        if arguments.task:
            figures["task_score"] = finetune(run, *arguments.task, seed)
        return figures

    runs, workers = results["runs"], arguments.workers
    for _ in harness.train_missing(runs, arguments.seeds, workers, train, measure):
        write_comparison(arguments, results)
    write_comparison(arguments, results)
    print((arguments.output / "table.md").read_text("utf-8"), end="")


def parse(argv):
    """Returns the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", required=True, help="token store to train on")
    add("--validation-data", required=True, help="held-out records, prepared for sop")
    add("--tokenizer", required=True, help="as of `pretrain`")
    add("--output", type=pathlib.Path, required=True, help="folder")
    add("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    add("--seeds", type=int, default=3, help="runs of each arm")
    add("--minutes", type=float, default=15, help="of one core, for each run")
    add("--workers", type=int, default=2, help="runs side by side")
    add("--task", type=task_and_data, metavar="TASK=FOLDER", help="to fine-tune (none)")
    add("options", nargs="*", help="options of `pretrain`, after --")
    arguments = parser.parse_args(argv)
    if "base" not in arguments.arms or arguments.seeds < 2:
        parser.error(
            "there must be the arm base, and two seeds or more. Received: "
            f"--arms {' '.join(arguments.arms)} --seeds {arguments.seeds}"
        )
    return arguments


def phases_of(arguments, name):
    """Returns the phases of an arm, each as long as its share of the minutes allows."""
    note(f"{name}: measuring its steps")
    phases = [f"num_steps=1000,{phase}" for _, phase in ARMS[name].phases]
    words = command(arguments, name, phases, 0)
    run = arguments.output / name / "dry"
    seconds = harness.seconds_per_step([*words, "--run", run])
    return [
        f"num_steps={max(1, round(60 * arguments.minutes * share / each))},{phase}"
        for (share, phase), each in zip(ARMS[name].phases, seconds, strict=True)
    ]


def command(arguments, name, phases, seed):
    """Returns the words of `pretrain`, without its run."""
    num_steps = sum(Phase.parse(phase).num_steps for phase in phases)
    return [
        *("pretrain", "--data", arguments.data, "--tokenizer", arguments.tokenizer),
        *("--recipe", "two_cores_long", "--learning-rate", RATE, "--seed", seed),
        *("--warmup-steps", round(WARMUP * num_steps), *ARMS[name].options),
        *arguments.options,
        *("--phases", *phases),
    ]


def finetune(run, task, data, seed):
    """Returns the score of a task, fine-tuned from a run; 1 is perfect."""
    words = ["finetune", "--task", task, "--data", data, "--checkpoint", run]
    words += ["--run", f"{run}-{task}", "--seed", seed, *FINETUNING, "--json"]
    results = json.loads(harness.run_on_one_core(words))
    return results[results["main_metric"]] / TASKS[task].perfect_score


def write_comparison(arguments, results):
    """Writes the figures, the table and the plot of the runs that are finished."""
    compared = harness.compare_arms(results["runs"], MEASURES, "base")
    columns = {"change": {name: ARMS[name].about for name in results["runs"]}}
    table = harness.as_table(compared, MEASURES, columns)
    harness.write_results(arguments.output, {**results, "compared": compared}, table)
    found = harness.found_measures(compared, MEASURES)
    if found:
        figure = new_figure(1 + 4 * len(found), 1.4 + 0.35 * len(compared))
        harness.draw_differences(figure, compared, found, "base")
        finish_figure(figure, arguments.output / "comparison.png")


if __name__ == "__main__":
    main()
