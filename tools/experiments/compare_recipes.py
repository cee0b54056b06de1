#!/usr/bin/env python3
"""Compares changes of a pretraining recipe, each alone, for equal core-minutes.

Every arm is the base recipe with one change. Its steps are chosen so that a run takes as
many minutes of one core as every other one, by the measured time of a step. Runs of one
seed begin with the same weights. The output folder gets `table.md`, `results.json` and a
plot of the differences from the base recipe: their means over the seeds, and standard
errors. When called again, it resumes; runs whose figures are in `results.json` already
need no folder.

All are measured on the same held-out pairs of sentences in order or swapped: nats of a
masked token, and the accuracy of the order where the arm learned that. With `--task`, all
are fine-tuned too, with the same options.

example:
  tools/experiments/compare_recipes.py --data tokens --validation-data held \
      --output comparison --tokenizer albert_nano_en --minutes 15 \
      --arms base "not grown" ternary --task sst-2=GLUE/SST-2
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import json
import pathlib
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.analysis.figures import finish_figure, new_figure
from albert_keras.pretraining.phases import Phase
from albert_keras.runs.reporting import note
from albert_keras.system.files import atomic_path, read_json, write_json
from albert_keras.tasks import TASKS
from tools.experiments.arms import (
    compare_arms,
    describe_difference,
    draw_differences,
)
from tools.experiments.compare_with_random import task_and_data
from tools.experiments.runs import measure_pretrained, run_on_one_core

RATE, WARMUP = "0.002", 0.03
SHORT = "batch_size=64,sequence_length=32,masking=token"
LONG = "batch_size=32"
LENGTH = 128


# Shares of the time on short rows, where the layer is applied once, twice, each time.
GROWN = (
    (0.25, f"{SHORT},num_layers=1"),
    (0.15, f"{SHORT},num_layers=2"),
    (0.2, SHORT),
)


@dataclasses.dataclass(frozen=True)
class Arm:
    """A recipe: phases with their shares of the time, and further options.

    With `restarts`, each length of rows is a run of its own, with its own rate schedule.
    """

    about: str
    phases: tuple = (*GROWN, (0.4, LONG))
    options: tuple = ()
    restarts: bool = False


NOT_GROWN = ((0.6, SHORT), (0.4, LONG))
FIRST_ONE = ((0.2, f"{SHORT},num_layers=1"), (0.4, SHORT), (0.4, LONG))


def shape(hidden_dim, num_layers, rate, about, *phases, options=()):
    """Returns an arm of another shape, with products in bfloat16."""
    words = ("--hidden-dim", str(hidden_dim), "--num-layers", str(num_layers))
    words += ("--learning-rate", rate, "--precision", "mixed_bfloat16")
    return Arm(f"width {hidden_dim}: {about}", phases, (*words, *options))


ARMS = {
    "base": Arm(
        "rows of 32 for 60 % of the time, 1, 2, 3 applications; then rows of 128"
    ),
    "not grown": Arm("3 applications from the start", NOT_GROWN),
    "fewer short rows": Arm(
        "30 % short rows",
        (
            (0.15, f"{SHORT},num_layers=1"),
            (0.1, f"{SHORT},num_layers=2"),
            (0.05, SHORT),
            (0.7, LONG),
        ),
    ),
    "shorter rows first": Arm(
        "rows of 16 for 10 %",
        (
            (0.1, "batch_size=128,sequence_length=16,masking=token,num_layers=1"),
            (0.15, f"{SHORT},num_layers=1"),
            *GROWN[1:],
            (0.4, LONG),
        ),
    ),
    "batch ramp": Arm(
        "batches of 32 long rows, then 64",
        (*GROWN, (0.2, LONG), (0.2, "batch_size=64")),
    ),
    "restarted": Arm("a schedule for short rows, then for long ones", restarts=True),
    "ternary": Arm("three classes of pairs", options=("--sentence-pairs", "ternary")),
    "distant": Arm("distant pairs", options=("--sentence-pairs", "distant")),
    "gap": Arm("one sentence left out", options=("--pair-gap", "1")),
    "hardest pairs": Arm("the hardest half", options=("--hardest-pairs", "0.5")),
    "no pairs": Arm("masked words alone", options=("--sentence-pairs", "none")),
    "15 % masked": Arm("15 % masked", options=("--masked-rate", "0.15")),
    "30 % masked": Arm("30 % masked", options=("--masked-rate", "0.3")),
    "256 x 12": shape(
        *(256, 12, "0.0015", "1 application, then 3, then 12"),
        (0.2, f"{SHORT},num_layers=1"),
        (0.2, f"{SHORT},num_layers=3"),
        (0.3, f"{LONG},num_layers=3"),
        (0.3, LONG),
    ),
    "384 x 4": shape(384, 4, "0.0012", "1 application, then 4", *FIRST_ONE),
    "512 x 3": shape(512, 3, "0.001", "1 application, then 3", *FIRST_ONE),
    "512 x 2": shape(512, 2, "0.001", "1 application, then 2", *FIRST_ONE),
    "768 x 1": shape(768, 1, "0.0008", "1 application", *NOT_GROWN),
    "256 x 4 unshared": shape(
        *(256, 4, "0.0015", "layers of their own: what sharing costs", *NOT_GROWN),
        options=("--sharing", "none"),
    ),
    "muon": Arm("Muon", options=("--optimizer", "muon")),
}


@dataclasses.dataclass(frozen=True)
class Measure:
    """A figure of the runs: its column, the label of its axis, and how it is written."""

    column: str
    label: str
    scale: int = 100
    digits: int = 1
    unit: str = " %"


MEASURES = {
    "mlm_loss": Measure("nats", "nats of a masked token; less is better", 1, 3, ""),
    "sop_accuracy": Measure("orders right", "points of orders right; more is better"),
    "task_score": Measure("fine-tuned", "points of the task; more is better"),
}

FINETUNING = (
    *("--num-steps", "600", "--steps-per-evaluation", "600", "--batch-size", "32"),
    *("--sequence-length", "64", "--learning-rate", "1e-3", "--no-collapse-guard"),
)

# Held by the thread that changes and writes the results.
WRITING = threading.Lock()


def main(argv=None):
    """Runs the missing runs and writes the comparison."""
    arguments = parse(argv)
    results = read_results(arguments)
    write_comparison(arguments, results)
    with concurrent.futures.ThreadPoolExecutor(arguments.workers) as pool:
        training = {
            pool.submit(pretrain, arguments, name, seed, results): (name, seed)
            for seed in range(arguments.seeds)
            for name in arguments.arms
            if str(seed) not in results["runs"][name]
        }
        for finished in concurrent.futures.as_completed(training):
            name, seed = training[finished]
            measured = measure(finished.result(), arguments, seed)
            with WRITING:
                results["runs"][name][str(seed)] = measured
                write_comparison(arguments, results)
    print((arguments.output / "table.md").read_text("utf-8"), end="")


def parse(argv):
    """Returns the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="token store to train on")
    parser.add_argument(
        "--validation-data", required=True, help="held-out records, prepared for sop"
    )
    parser.add_argument("--tokenizer", required=True, help="as of `pretrain`")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder")
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--seeds", type=int, default=3, help="runs of each arm")
    parser.add_argument(
        "--minutes", type=float, default=15, help="of one core, for each run"
    )
    parser.add_argument("--workers", type=int, default=2, help="runs side by side")
    parser.add_argument(
        "--task", type=task_and_data, metavar="TASK=FOLDER", help="to fine-tune (none)"
    )
    parser.add_argument("options", nargs="*", help="options of `pretrain`, after --")
    arguments = parser.parse_args(argv)
    if "base" not in arguments.arms or arguments.seeds < 2:
        parser.error(
            "there must be the arm base, and two seeds or more. Received: "
            f"--arms {' '.join(arguments.arms)} --seeds {arguments.seeds}"
        )
    return arguments


def read_results(arguments):
    """Returns the figures of an earlier call, and place for those of all arms."""
    results = {"minutes": arguments.minutes, "runs": {}, "phases": {}}
    file = arguments.output / "results.json"
    if file.exists():
        results |= read_json(file)
    if results["minutes"] != arguments.minutes:
        raise SystemExit(
            f"All runs must take the same time. Received: --minutes {arguments.minutes} "
            f"for {file} with {results['minutes']}."
        )
    for name in arguments.arms:
        results["runs"].setdefault(name, {})
    return results


def phases_of(arguments, name):
    """Returns the phases of an arm, as long as its share of the minutes allows."""
    arm = ARMS[name]
    phases = [f"num_steps=1000,{phase}" for _, phase in arm.phases]
    note(f"{name}: measuring its steps")
    folder = arguments.output / name / "dry"
    words = [*command(arguments, arm, phases, 0), "--run", str(folder)]
    printed = run_on_one_core([*words, "--dry-run", "--json"], subprocess.PIPE)
    measured = json.loads(printed.stdout)["phases"].values()
    return [
        f"num_steps={max(1, round(60 * arguments.minutes * share / seconds))},{phase}"
        for (share, phase), seconds in zip(
            arm.phases,
            (phase["core_seconds_per_step"] for phase in measured),
            strict=True,
        )
    ]


def command(arguments, arm, phases, seed):
    """Returns the words of `pretrain`, without its run."""
    num_steps = sum(Phase.parse(phase).num_steps for phase in phases)
    return [
        *("pretrain", "--data", arguments.data, "--tokenizer", arguments.tokenizer),
        *("--recipe", "two_cores_long", "--learning-rate", RATE, "--seed", str(seed)),
        *("--warmup-steps", str(round(WARMUP * num_steps)), *arm.options),
        *arguments.options,
        *("--phases", *phases),
    ]


def pretrain(arguments, name, seed, results):
    """Trains an arm with a seed, or resumes it; returns the run.

    The steps of an arm are measured before its first run, and kept.
    """
    arm, run = ARMS[name], arguments.output / name / f"seed-{seed}"
    with WRITING:
        if name not in results["phases"]:
            results["phases"][name] = phases_of(arguments, name)
            write_comparison(arguments, results)
    phases = results["phases"][name]
    if not arm.restarts:
        run_on_one_core([*command(arguments, arm, phases, seed), "--run", str(run)])
        return run
    checkpoint = []
    groups = [(n, [*group]) for n, group in itertools.groupby(phases, length_of)]
    for number, (length, group) in enumerate(groups, start=1):
        is_last = number == len(groups)
        folder = run if is_last else run.with_name(f"{run.name}-rows-of-{length}")
        words = [*command(arguments, arm, group, seed), *checkpoint]
        for option in ("--sequence-length", "--max-sequence-length"):
            words += [option, str(length)]
        run_on_one_core([*words, "--run", str(folder)])
        checkpoint = ["--checkpoint", str(folder)]
    return run


def length_of(phase):
    """Returns the length of a phase's rows."""
    return Phase.parse(phase).data_options.get("sequence_length", LENGTH)


def measure(run, arguments, seed):
    """Returns the held-out figures of a run of an arm."""
    results = measure_pretrained(run, arguments.validation_data)
    figures = {key: results[key] for key in MEASURES if key in results}
    if arguments.task:
        figures["task_score"] = finetune(run, *arguments.task, seed)
    return figures


def finetune(run, task, data, seed):
    """Returns the score of a task, fine-tuned from a run; 1 is perfect."""
    printed = run_on_one_core(
        [
            *("finetune", "--task", task, "--data", data, "--checkpoint", str(run)),
            *("--run", f"{run}-{task}", "--seed", str(seed), *FINETUNING, "--json"),
        ],
        subprocess.PIPE,
    )
    results = json.loads(printed.stdout)
    return results[results["main_metric"]] / TASKS[task].perfect_score


def write_comparison(arguments, results):
    """Writes the figures, the table and the plot of the runs that are finished."""
    runs = results["runs"]
    compared = compare_arms(runs, MEASURES, "base")
    write_json(arguments.output / "results.json", {**results, "compared": compared})
    with atomic_path(arguments.output / "table.md") as path:
        path.write_text(as_table(compared), "utf-8")
    plot(compared, arguments.output / "comparison.png")


def as_table(compared):
    """Returns the comparison as Markdown."""
    found = found_measures(compared)
    cells = ["arm", "change", "seeds"]
    for measure in found.values():
        cells += [measure.column, "difference"]
    lines = [f"| {' | '.join(cells)} |", "|" + " --- |" * len(cells)]
    for name, arm in compared.items():
        cells = [name, ARMS[name].about, str(arm["seeds"])]
        for key, measure in found.items():
            how = measure.scale, measure.digits, measure.unit
            cells += describe_difference(arm.get(key), *how)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def found_measures(compared):
    """Returns the measures that some arm has."""
    return {
        key: measure
        for key, measure in MEASURES.items()
        if any(key in arm for arm in compared.values())
    }


def plot(compared, path):
    """Draws the differences from the base with their standard errors."""
    found = found_measures(compared)
    if not found:
        return
    arms = [name for name in compared if name != "base"]
    figure = new_figure(1 + 4 * len(found), 1.4 + 0.35 * max(1, len(arms)))
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    for axes, (key, measure) in zip(panels, found.items(), strict=True):
        draw_differences(axes, compared, arms, key, measure.scale)
        axes.set_xlabel(f"difference from the base,\n{measure.label}")
    panels[0].set_yticks(range(len(arms)), arms)
    panels[0].set_ylim(max(1, len(arms)) - 0.5, -0.5)
    finish_figure(figure, path)


if __name__ == "__main__":
    main()
