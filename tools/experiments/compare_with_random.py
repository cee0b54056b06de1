#!/usr/bin/env python3
"""Compares fine-tuning from a checkpoint with fine-tuning from random weights.

Each task is fine-tuned from both with the same options and seeds, by `albert-keras
finetune`. The output folder gets `table.md`, with the task's main metric on held-out rows
for each seed, the same of TF-IDF with a linear model, and the commands; and
`results.json`. When called again, it resumes. Words after `--` are passed to every
`finetune`. With `--learning-rate sweep` each run takes the best of three rates.

example:
  tools/experiments/compare_with_random.py --checkpoint runs/base --output comparison \
      --task rte=GLUE/RTE --task sts-b=GLUE/STS-B \
      -- --num-steps 600 --learning-rate sweep
"""

import argparse
import contextlib
import io
import json
import pathlib
import shlex
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras import cli
from albert_keras.runs.finetuning_task import find_files
from albert_keras.runs.reporting import note
from albert_keras.tasks import TASKS
from tools.experiments.baselines import linear_baseline
from tools.experiments.harness import write_results
from tools.parser import new_parser
from tools.tables import markdown_table

# Options of `finetune` for each kind of start.
STARTS = {"pretrained": [], "random": ["--random-weights"]}


def main(argv=None):
    """Runs the missing fine-tunings and writes the comparison."""
    arguments = parse(argv)
    tasks = {}
    for task, data in arguments.task:
        tasks[task] = {"linear": linear_score(task, data)}
        for start in STARTS:
            words = command(arguments, task, data, start)
            runs = finetune(words)
            metric = tasks[task]["metric"] = runs[0]["main_metric"]
            scores = [run[metric] / TASKS[task].perfect_score for run in runs]
            tasks[task][start] = {
                "scores": scores,
                "mean": statistics.mean(scores),
                "command": shlex.join(words),
            }
        results = {"tasks": tasks, "mean": mean_of_tasks(tasks)}
        write_results(arguments.output, results, as_table(results))
    print(as_table(results), end="")


def parse(argv):
    """Returns the arguments."""
    parser = new_parser(__doc__)
    add = parser.add_argument
    add("--checkpoint", required=True, help="as of `finetune`")
    add("--output", type=pathlib.Path, required=True, help="folder")
    task = {"type": task_and_data, "metavar": "TASK=FOLDER", "required": True}
    add("--task", **task, action="append", help="task and its files: once for each")
    add("--seeds", type=int, default=2, help="two or more, of each")
    add("options", nargs="*", help="options of `finetune`")
    arguments = parser.parse_args(argv)
    if arguments.seeds < 2:
        parser.error(f"--seeds must be two or more. Received: {arguments.seeds}")
    return arguments


def task_and_data(text):
    """Returns the task and the folder of `TASK=FOLDER`, which must have held-out rows."""
    task, _, data = text.partition("=")
    if task not in TASKS or not data:
        raise argparse.ArgumentTypeError(
            f"it must be TASK=FOLDER, a task of {', '.join(TASKS)}. Received: {text}"
        )
    if "validation" not in find_files(TASKS[task], data):
        raise argparse.ArgumentTypeError(
            f"the folder must have held-out rows. Received: {text}, without any"
        )
    return task, data


def linear_score(task, data):
    """Returns the score of the linear baseline."""
    note(f"{task}, linear model")
    found = find_files(TASKS[task], data)
    rows = [TASKS[task].read(found[name]) for name in ("train", "validation")]
    return linear_baseline(TASKS[task], *rows)


def command(arguments, task, data, start):
    """Returns the words of the fine-tunings of a task from one kind of start."""
    return [
        *("albert-keras", "finetune", "--task", task, "--data", data),
        *("--seeds", str(arguments.seeds)),
        *("--checkpoint", arguments.checkpoint, *STARTS[start]),
        *("--run", str(arguments.output / task / start)),
        # A run that predicts one label counts too.
        "--no-collapse-guard",
        *arguments.options,
    ]


def finetune(words):
    """Returns what a command of several seeds printed, a list with a dict for each."""
    note(shlex.join(words))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = cli.main([*words[1:], "--json"])
    if status:
        # The command has printed the reason.
        raise SystemExit(status)
    return list(json.loads(printed.getvalue())["runs"].values())


def mean_of_tasks(tasks):
    """Returns the mean over the tasks for each kind of start."""
    return {
        start: statistics.mean(task[start]["mean"] for task in tasks.values())
        for start in STARTS
    }


def as_table(results):
    """Returns the comparison as Markdown, with the commands."""
    heads = ["task", "metric", "pretrained", "random", "gain", "linear model"]
    rows, commands = [], []
    for name, task in results["tasks"].items():
        scores = [" ".join(map(percent, task[start]["scores"])) for start in STARTS]
        linear = "-" if task["linear"] is None else percent(task["linear"])
        gain = task["pretrained"]["mean"] - task["random"]["mean"]
        rows.append([name, task["metric"], *scores, percent(gain, "+"), linear])
        commands += [task[start]["command"] for start in STARTS]
    means = [results["mean"][start] for start in STARTS]
    gain = percent(means[0] - means[1], "+")
    rows.append(["mean", "", *map(percent, means), gain, ""])
    table = markdown_table(heads, rows)
    return "\n".join([table, "", "```bash", *commands, "```", ""])


def percent(value, sign=""):
    return f"{100 * value:{sign}.1f}"


if __name__ == "__main__":
    main()
