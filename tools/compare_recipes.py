#!/usr/bin/env python3
"""Compares changes of a pretraining recipe, each alone, for equal core-minutes.

Every arm is the base recipe with one change. Its steps are chosen so that a run takes as
many minutes of one core as every other one, by the measured time of a step. Runs of one
seed begin with the same weights. The output folder gets `table.md`, `results.json` and a
plot of the differences from the base recipe: their means over the seeds, and standard
errors. When called again, it resumes.

All are measured on the same held-out pairs of sentences in order or swapped: nats of a
masked token, and the accuracy of the order where the arm learned it.

example:
  tools/compare_recipes.py --data tokens --validation-data held --output comparison \
      --tokenizer albert_nano_en --minutes 15 --arms base grown ternary
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from albert_keras.analysis.figures import finish_figure, new_figure
from albert_keras.converters import load_checkpoint
from albert_keras.files import atomic_path, read_json, write_json
from albert_keras.models import AlbertPretrainer
from albert_keras.pretraining import PretrainingTask
from albert_keras.pretraining.phases import Phase
from albert_keras.runs.reporting import note

RATE, WARMUP = "0.002", 0.03
SHORT = "batch_size=64,sequence_length=32,masking=token"
LONG = "batch_size=32"
LENGTH = 128


@dataclasses.dataclass(frozen=True)
class Arm:
    """A recipe: phases with their shares of the time, and further options.

    With `restarts`, each phase is a run of its own, with its own rate schedule.
    """

    about: str
    phases: tuple = ((0.3, SHORT), (0.7, LONG))
    options: tuple = ()
    restarts: bool = False


ARMS = {
    "base": Arm("rows of 32 for 30 % of the time, then of 128, under one schedule"),
    "restarted": Arm("a schedule for each phase", restarts=True),
    "more short rows": Arm("60 % short rows", ((0.6, SHORT), (0.4, LONG))),
    "shorter rows first": Arm(
        "rows of 16 for 10 %",
        (
            (0.1, "batch_size=128,sequence_length=16,masking=token"),
            (0.2, SHORT),
            (0.7, LONG),
        ),
    ),
    "grown": Arm(
        "1 application for 25 %, then 2, then all",
        (
            (0.15, f"{SHORT},num_layers=1"),
            (0.1, f"{SHORT},num_layers=2"),
            (0.05, SHORT),
            (0.7, LONG),
        ),
    ),
    "batch ramp": Arm(
        "batches of 32, then 64, then 128",
        (
            (0.3, SHORT),
            (0.25, "batch_size=16"),
            (0.25, LONG),
            (0.2, "batch_size=64"),
        ),
    ),
    "averaged": Arm("mean of 5 checkpoints", options=("--average-checkpoints", "5")),
    "ternary": Arm("three classes of pairs", options=("--sentence-pairs", "ternary")),
    "distant": Arm("distant pairs", options=("--sentence-pairs", "distant")),
    "gap": Arm("one sentence left out", options=("--pair-gap", "1")),
    "hardest pairs": Arm("the hardest half", options=("--hardest-pairs", "0.5")),
    "no pairs": Arm("masked words alone", options=("--sentence-pairs", "none")),
    "15 % masked": Arm("15 % masked", options=("--masked-rate", "0.15")),
    "30 % masked": Arm("30 % masked", options=("--masked-rate", "0.3")),
}


MEASURED = "measured.json"
MEASURES = ("mlm_loss", "sop_accuracy")

# Objectives whose first classes are in order and swapped.
ORDERS = ("sop", "ternary")


def main(argv=None):
    """Runs the missing runs and writes the comparison."""
    arguments = parse(argv)
    phases = {name: phases_of(arguments, name) for name in arguments.arms}
    runs = {
        (name, seed): arguments.output / name / f"seed-{seed}"
        for seed in range(arguments.seeds)
        for name in arguments.arms
    }
    with concurrent.futures.ThreadPoolExecutor(arguments.workers) as pool:
        trained = {
            pool.submit(pretrain, arguments, name, phases[name], seed, run): run
            for (name, seed), run in runs.items()
            if not (run / MEASURED).exists()
        }
        for finished in concurrent.futures.as_completed(trained):
            finished.result()
            run = trained[finished]
            write_json(run / MEASURED, measure(run, arguments))
            write_comparison(arguments, collect(runs))
    write_comparison(arguments, collect(runs))
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
    parser.add_argument("options", nargs="*", help="options of `pretrain`, after --")
    arguments = parser.parse_args(argv)
    if "base" not in arguments.arms or arguments.seeds < 2:
        parser.error(
            "there must be the arm base, and two seeds or more. Received: "
            f"--arms {' '.join(arguments.arms)} --seeds {arguments.seeds}"
        )
    return arguments


def phases_of(arguments, name):
    """Returns the phases of an arm, as long as its share of the minutes allows.

    The time of a step is measured once, and kept.
    """
    arm, file = ARMS[name], arguments.output / name / "phases.json"
    if not file.exists():
        phases = [f"num_steps=1000,{phase}" for _, phase in arm.phases]
        note(f"{name}: measuring its steps")
        words = [*command(arguments, arm, phases, 0), "--run", str(file.parent / "dry")]
        printed = run_alone([*words, "--dry-run", "--json"], subprocess.PIPE)
        measured = json.loads(printed.stdout)["phases"].values()
        seconds = [phase["core_seconds_per_step"] for phase in measured]
        steps = [
            max(1, round(60 * arguments.minutes * share / second))
            for (share, _), second in zip(arm.phases, seconds, strict=True)
        ]
        write_json(file, {"steps": steps, "core_seconds_per_step": seconds})
    steps = read_json(file)["steps"]
    return [
        f"num_steps={num_steps},{phase}"
        for num_steps, (_, phase) in zip(steps, arm.phases, strict=True)
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


def run_alone(words, stdout=subprocess.DEVNULL):
    """Runs a command on one core; an error of the command is one here."""
    environment = os.environ | {
        "PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[1]),
        "TF_NUM_INTRAOP_THREADS": "1",
        "TF_NUM_INTEROP_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    words = [sys.executable, "-m", "albert_keras", *words]
    return subprocess.run(words, stdout=stdout, env=environment, check=True)


def pretrain(arguments, name, phases, seed, run):
    """Trains an arm with a seed, or resumes it."""
    arm = ARMS[name]
    if not arm.restarts:
        run_alone([*command(arguments, arm, phases, seed), "--run", str(run)])
        return
    checkpoint = []
    for number, phase in enumerate(phases, start=1):
        is_last = number == len(phases)
        folder = run if is_last else run.with_name(f"{run.name}-phase-{number}")
        length = str(Phase.parse(phase).data_options.get("sequence_length", LENGTH))
        words = [*command(arguments, arm, [phase], seed), *checkpoint]
        words += ["--sequence-length", length, "--max-sequence-length", length]
        run_alone([*words, "--run", str(folder)])
        checkpoint = ["--checkpoint", str(folder)]


def measure(run, arguments):
    """Returns the held-out figures of a run."""
    trained = load_checkpoint(run)
    knows_order = read_json(run / "run.json")["examples"]["sentence_pairs"] in ORDERS
    model = AlbertPretrainer(trained.backbone, 2 if knows_order else 0)
    model.mlm_head.set_weights(trained.mlm_head.get_weights())
    if knows_order:
        kernel, bias = trained.pair_head.get_weights()
        model.pair_head.set_weights([kernel[:, :2], bias[:2]])
    task = PretrainingTask("sop" if knows_order else "none")
    results = task.evaluate(model, arguments.validation_data, batch_size=32)
    return {name: results[name] for name in MEASURES if name in results}


def collect(runs):
    """Returns the figures of the finished runs, by arm and seed."""
    results = {}
    for (name, seed), run in runs.items():
        file = run / MEASURED
        results.setdefault(name, {})
        if file.exists():
            results[name][seed] = read_json(file)
    return results


def write_comparison(arguments, results):
    """Writes the figures, the table and the plot of the runs that are finished."""
    compared = {name: compare(results, name) for name in results}
    phases = {name: phases_of(arguments, name) for name in results}
    content = {"minutes": arguments.minutes, "runs": results, "phases": phases}
    write_json(arguments.output / "results.json", {**content, "compared": compared})
    with atomic_path(arguments.output / "table.md") as path:
        path.write_text(as_table(compared), "utf-8")
    plot(compared, arguments.output / "comparison.png")


def compare(results, name):
    """Returns the mean of each measure of an arm, and its difference from the base.

    The difference is over the seeds that both have; its standard error is None for a
    single seed.
    """
    compared = {"seeds": len(results[name])}
    for measure in MEASURES:
        of_arm, of_base = (
            {seed: run[measure] for seed, run in results[arm].items() if measure in run}
            for arm in (name, "base")
        )
        differences = [of_arm[s] - of_base[s] for s in sorted({*of_arm} & {*of_base})]
        if differences:
            error = None
            if len(differences) > 1:
                error = statistics.stdev(differences) / len(differences) ** 0.5
            compared[measure] = {
                "mean": statistics.mean(of_arm.values()),
                "difference": statistics.mean(differences),
                "standard_error": error,
            }
    return compared


def as_table(compared):
    """Returns the comparison as Markdown."""
    lines = ["| arm | change | seeds | nats | difference | orders right | difference |"]
    lines.append("|" + " --- |" * 7)
    for name, arm in compared.items():
        cells = [name, ARMS[name].about, str(arm["seeds"])]
        cells += as_cells(arm.get("mlm_loss"), 1, 3, "")
        cells += as_cells(arm.get("sop_accuracy"), 100, 1, " %")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def as_cells(found, scale, digits, unit):
    """Returns a mean, and the difference from the base with its standard error."""
    if found is None:
        return ["-", "-"]
    mean, difference = scale * found["mean"], scale * found["difference"]
    cells = [f"{mean:.{digits}f}{unit}", f"{difference:+.{digits}f}"]
    if found["standard_error"] is not None:
        cells[1] += f" ± {scale * found['standard_error']:.{digits}f}"
    return cells


def plot(compared, path):
    """Draws the differences from the base with their standard errors."""
    arms = [name for name in compared if name != "base"]
    figure = new_figure(9, 1.4 + 0.35 * max(1, len(arms)))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, measure, unit, scale in (
        (panels[0], "mlm_loss", "nats of a masked token; less is better", 1),
        (panels[1], "sop_accuracy", "points of orders right; more is better", 100),
    ):
        axes.axvline(0, color="0.6", linewidth=1)
        for y, name in enumerate(arms):
            if measure not in compared[name]:
                continue
            found = compared[name][measure]
            error = scale * (found["standard_error"] or 0)
            x = scale * found["difference"]
            axes.errorbar(x, y, xerr=error, fmt="o", color="0.15", capsize=3)
        axes.set_xlabel(f"difference from the base, {unit}")
        axes.grid(axis="x", color="0.9")
    panels[0].set_yticks(range(len(arms)), arms)
    panels[0].invert_yaxis()
    finish_figure(figure, path)


if __name__ == "__main__":
    main()
