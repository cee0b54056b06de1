#!/usr/bin/env python3
"""Compares fine-tuning from a checkpoint with fine-tuning from random weights.

Each task is fine-tuned from both with the same options and seeds, by `albert-keras
finetune`. Of several learning rates, each start takes the one that is best on a tenth of
the training rows, after training on the others. The output folder gets `table.md`, with
the task's main metric on held-out rows for each seed, the same of TF-IDF with a linear
model, and the commands; `results.json`; and a plot. When called again, it resumes. Words
after `--` are passed to every `finetune`.

example:
  tools/experiments/compare_with_random.py --checkpoint runs/base --output comparison \
      --task rte=GLUE/RTE --task sts-b=GLUE/STS-B --learning-rates 5e-4 1e-3 2e-3 \
      -- --num-steps 600
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
from albert_keras.analysis.figures import finish_figure, new_figure
from albert_keras.runs.finetuning_task import find_files
from albert_keras.system.files import atomic_path, read_json, write_json
from albert_keras.tasks import TASKS
from tools.experiments.linear_baseline import linear_baseline

# Extra options of `finetune` for each kind of start.
STARTS = {"pretrained": [], "random": ["--random-weights"]}


def main(argv=None):
    """Runs the missing fine-tunings and writes the comparison."""
    arguments = parse(argv)
    tasks = {}
    for task, data in arguments.task:
        tasks[task] = {"linear": linear_score(arguments, task, data)}
        for start in STARTS:
            rate = choose_rate(arguments, task, data, start)
            metric, tasks[task][start] = compare_seeds(
                arguments, task, data, start, rate
            )
        tasks[task]["metric"] = metric
        results = {"tasks": tasks, "mean": mean_of_tasks(tasks)}
        write_comparison(arguments.output, results)
    print((arguments.output / "table.md").read_text("utf-8"), end="")


def parse(argv):
    """Returns the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkpoint", required=True, help="as of `finetune`")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="folder")
    parser.add_argument(
        "--task",
        type=task_and_data,
        action="append",
        required=True,
        metavar="TASK=FOLDER",
        help="a task, and its files: once for each",
    )
    parser.add_argument("--seeds", type=int, default=2, help="two or more, of each")
    parser.add_argument(
        "--learning-rates",
        nargs="+",
        metavar="RATE",
        help="rates to choose from on training rows (default: that of the options)",
    )
    parser.add_argument("options", nargs="*", help="options of `finetune`")
    arguments = parser.parse_args(argv)
    if arguments.seeds < 2:
        parser.error(f"--seeds must be two or more. Received: {arguments.seeds}")
    for task, data in arguments.task:
        check_has_validation(parser, task, data, arguments.options)
    return arguments


def check_has_validation(parser, task, data, options):
    """Exits with an error if the task has no held-out rows."""
    try:
        found = find_files(TASKS[task], data)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if not ("validation" in found or "--validation" in options):
        parser.error(
            f"a task must have held-out rows. Received: {task}={data}, without any. Add "
            "-- --validation FILE"
        )


def task_and_data(text):
    """Returns the task and the folder of `TASK=FOLDER`."""
    task, _, data = text.partition("=")
    if task not in TASKS or not data:
        raise argparse.ArgumentTypeError(
            f"it must be TASK=FOLDER, a task of {', '.join(TASKS)}. Received: {text}"
        )
    return task, data


def linear_score(arguments, task, data):
    """Returns the score of the linear baseline, which is measured once, and kept."""
    file = arguments.output / task / "linear.json"
    if not file.exists():
        print(f"{task}, linear model", file=sys.stderr, flush=True)
        found = find_files(TASKS[task], data)
        rows = [TASKS[task].read(found[name]) for name in ("train", "validation")]
        write_json(file, {"score": linear_baseline(TASKS[task], *rows)})
    return read_json(file)["score"]


def choose_rate(arguments, task, data, start):
    """Returns the words of the rate that is best on a tenth of the training rows."""
    scores = {}
    for rate in arguments.learning_rates or ():
        words = ["--train", find_files(TASKS[task], data)["train"]]
        words += ["--validation-split", "0.1", "--learning-rate", rate]
        (result,) = finetune(arguments, task, start, f"{start}-rate-{rate}", words)
        scores[rate] = result[result["main_metric"]]
    return ["--learning-rate", max(scores, key=scores.get)] if scores else []


def compare_seeds(arguments, task, data, start, rate):
    """Fine-tunes a task with all seeds.

    Returns:
        Tuple: name of the metric; dict of its values (1 is perfect), their mean, and the
        command.
    """
    words = ["--data", data, "--seeds", str(arguments.seeds), *rate]
    runs = finetune(arguments, task, start, start, words)
    metric = runs[0]["main_metric"]
    scores = [result[metric] / TASKS[task].perfect_score for result in runs]
    return metric, {
        "scores": scores,
        "mean": statistics.mean(scores),
        "command": shlex.join(command(arguments, task, start, start, words)),
    }


def command(arguments, task, start, name, words):
    """Returns the words of a fine-tuning in the folder of a name."""
    return [
        *("albert-keras", "finetune", "--task", task, *words),
        *("--checkpoint", arguments.checkpoint, *STARTS[start]),
        *("--run", str(arguments.output / task / name)),
        # A run that predicts one label counts too.
        "--no-collapse-guard",
        *arguments.options,
    ]


def finetune(arguments, task, start, name, words):
    """Returns what a fine-tuning printed, a list with a dict for each seed."""
    print(f"{task}, {name}", file=sys.stderr, flush=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        words = command(arguments, task, start, name, words)[1:]
        status = cli.main([*words, "--json"])
    if status:
        # The command has printed the reason.
        raise SystemExit(f"Fine-tuning {task} failed, from {start} weights.")
    results = json.loads(printed.getvalue())
    return list(results.get("runs", {"": results}).values())


def mean_of_tasks(tasks):
    """Returns the mean over the tasks for each kind of start."""
    return {
        start: statistics.mean(task[start]["mean"] for task in tasks.values())
        for start in STARTS
    }


def write_comparison(folder, results):
    """Writes the figures, the table and the plot."""
    write_json(folder / "results.json", results)
    with atomic_path(folder / "table.md") as path:
        path.write_text(as_table(results), "utf-8")
    plot(results, folder / "comparison.png")


def as_table(results):
    """Returns the comparison as Markdown, with the commands."""
    lines = ["| task | metric | pretrained | random | gain | linear model |"]
    lines.append("|" + " --- |" * 6)
    commands = []
    for name, task in results["tasks"].items():
        cells = [" ".join(f"{100 * x:.1f}" for x in task[s]["scores"]) for s in STARTS]
        gain = 100 * (task["pretrained"]["mean"] - task["random"]["mean"])
        linear = "-" if task["linear"] is None else f"{100 * task['linear']:.1f}"
        cells = [name, task["metric"], *cells, f"{gain:+.1f}", linear]
        lines.append(f"| {' | '.join(cells)} |")
        commands += [task[start]["command"] for start in STARTS]
    means = [100 * results["mean"][start] for start in STARTS]
    cells = " | ".join(f"{mean:.1f}" for mean in means)
    lines.append(f"| mean | | {cells} | {means[0] - means[1]:+.1f} | |")
    return "\n".join([*lines, "", "```bash", *commands, "```", ""])


def plot(results, path):
    """Draws two bars for each task, a dot for each seed, and the linear model's line."""
    figure = new_figure(1.5 + len(results["tasks"]), 4)
    axes = figure.subplots()
    for offset, start in zip((-0.2, 0.2), STARTS, strict=True):
        color = {"pretrained": "tab:blue", "random": "tab:gray"}[start]
        tasks = [task[start] for task in results["tasks"].values()]
        places = [place + offset for place in range(len(tasks))]
        means = [task["mean"] for task in tasks]
        label = f"from {start} weights"
        axes.bar(places, means, width=0.36, color=color, label=label)
        for place, task in zip(places, tasks, strict=True):
            axes.plot([place] * len(task["scores"]), task["scores"], "k.")
    label = "TF-IDF and a linear model"
    for place, task in enumerate(results["tasks"].values()):
        if task["linear"] is not None:
            ends = [place - 0.4, place + 0.4]
            axes.plot(ends, [task["linear"]] * 2, "k--", linewidth=1, label=label)
            label = None
    labels = [f"{name}\n{task['metric']}" for name, task in results["tasks"].items()]
    axes.set_xticks(range(len(labels)), labels, fontsize="small")
    axes.set_ylabel("held-out score")
    figure.legend(loc="outside lower center")
    finish_figure(figure, path)


if __name__ == "__main__":
    main()
