#!/usr/bin/env python3
"""Writes a pretraining run to `saved_models/` as a shipped model, with its card.

The folder gets the run's preset, its log and learning curve, `results.json` with all
figures, and `README.md`, the template of `tools/model_cards/` filled in with these.
Commands show paths as they were given; call the tool in the folder of the run.

example:
  tools/ship_model.py albert_nano_en --run run/nano --evaluation evaluation.json \
      --finetuned run/sst2_*.json --text .
"""

import argparse
import collections
import hashlib
import json
import pathlib
import shlex
import shutil
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from albert_keras.analysis import (  # noqa: E402
    count_parameters,
    parameter_table,
    plot_learning_curve,
)
from albert_keras.cli.options import flag_of  # noqa: E402
from albert_keras.config import AlbertConfig  # noqa: E402
from albert_keras.files import (  # noqa: E402
    atomic_folder,
    check_replaceable_folder,
    read_json,
    write_json,
)
from albert_keras.runs.folder import RunFolder  # noqa: E402

CARDS = ROOT / "tools" / "model_cards"
CARD = "README.md"
# Options that are repeated for each value.
REPEATED = ("runner_option",)

# Options with a `--no-...` form.
SWITCHED_OFF = ("jit_compile", "collapse_guard")

# Lan et al. 2020: 125,000 steps of 4,096 rows of length 512.
PAPER_POSITIONS = 125_000 * 4_096 * 512


def main(argv=None):
    arguments = parse(argv)
    output = arguments.output or ROOT / "saved_models" / arguments.name
    check_replaceable_folder(output, "config.json")
    results = collect_results(arguments)
    template = (CARDS / f"{arguments.name}.md").read_text("utf-8")
    with atomic_folder(output) as folder:
        shutil.copytree(arguments.run / "model", folder, dirs_exist_ok=True)
        shutil.copy(arguments.run / "log.jsonl", folder)
        plot_learning_curve(arguments.run, folder / "learning_curve.png")
        write_json(folder / "results.json", results)
        card = template.format(**results, checksums=checksums(folder))
        (folder / CARD).write_text(card, "utf-8")
    print(output)


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=sorted(path.stem for path in CARDS.glob("*")))
    parser.add_argument("--run", type=pathlib.Path, required=True)
    parser.add_argument(
        "--evaluation",
        type=pathlib.Path,
        required=True,
        help="output of `evaluate RUN --data HELD_OUT --json`",
    )
    parser.add_argument(
        "--finetuned",
        type=pathlib.Path,
        nargs="+",
        required=True,
        help="outputs of `finetune --json`, from the model and with --random-weights",
    )
    parser.add_argument(
        "--text",
        type=pathlib.Path,
        required=True,
        help="folder of train_SOURCE.jsonl and held_SOURCE.jsonl",
    )
    parser.add_argument("--note", default="", help="further text for the card")
    parser.add_argument("--output", type=pathlib.Path)
    return parser.parse_args(argv)


def collect_results(arguments):
    """Returns all figures and commands under the names in the card."""
    run = arguments.run
    config = AlbertConfig.from_dict(model_config(run / "model"))
    return {
        "name": arguments.name,
        "versions": {
            name: value
            for name, value in read_json(run / "model" / "metadata.json").items()
            if name.endswith("_version")
        },
        "config": config.to_dict(),
        "parameters": {
            "backbone": count_parameters(config),
            "with_heads": sum(parameter_table(config).values()),
        },
        "sources": count_sources(arguments.text),
        "pretraining": {"note": arguments.note, **collect_pretraining(run)},
        "held_out": read_json(arguments.evaluation),
        "finetuning": collect_finetuning(arguments.finetuned),
    }


def model_config(preset):
    """Returns the fields of `AlbertConfig` in a preset's config."""
    saved = read_json(preset / "config.json")["config"]
    return {name: saved[name] for name in AlbertConfig.__dataclass_fields__}


def count_sources(folder):
    """Returns the numbers of documents and characters by source and split."""
    sources = collections.defaultdict(dict)
    for part, prefix in (("train", "train_"), ("held_out", "held_")):
        for path in sorted(folder.glob(f"{prefix}*.jsonl")):
            with open(path, encoding="utf-8") as lines:
                lengths = [len(json.loads(line)["text"]) for line in lines]
            sources[path.stem.removeprefix(prefix)][part] = {
                "documents": len(lengths),
                "characters": sum(lengths),
            }
    return dict(sources)


def collect_pretraining(run):
    """Returns the stages of pretraining that end with `run`, and their totals.

    `num_positions` includes padding.
    """
    stages = [read_stage(run)]
    while (before := stages[0]["arguments"].get("checkpoint")) is not None:
        stages.insert(0, read_stage(pathlib.Path(before)))
    num_positions = sum(stage["num_positions"] for stage in stages)
    corpus_tokens = stages[0]["corpus_tokens"]
    return {
        "stages": stages,
        "table": "\n".join(map(stage_as_row, stages)),
        "commands": "\n".join(stage["command"] for stage in stages),
        "corpus_tokens": corpus_tokens,
        "num_positions": num_positions,
        "num_epochs": num_positions / corpus_tokens,
        "times_less_than_the_paper": PAPER_POSITIONS / num_positions,
    }


def read_stage(run):
    """Returns the options of a run and of its data, and its size."""
    description = RunFolder(run).read()
    arguments = options_of(description)
    data = read_json(pathlib.Path(description["data"], "dataset.json"))
    # Options of examples that the run did not set are those of the data.
    examples = {
        name: value if arguments.get(name) is None else arguments[name]
        for name, value in data["config"].items()
    }
    rows = arguments["num_steps"] * arguments["batch_size"]
    return {
        "command": command_line("pretrain", run, arguments),
        "arguments": arguments,
        "examples": examples,
        # The resolved schedule: values from a recipe are not among the arguments.
        "schedule": description["schedule"],
        "corpus_tokens": data["report"]["num_corpus_tokens"],
        "num_positions": rows * examples["sequence_length"],
    }


def stage_as_row(stage):
    """Returns a stage's row in the card's table."""
    arguments, examples, schedule = (
        stage[name] for name in ("arguments", "examples", "schedule")
    )
    masked = f"{examples['masked_rate']:.0%}, {examples['masking']}"
    if examples["masking"] == "ngram":
        masked += f" of up to {examples['max_ngram']} words"
    cells = [
        f"{arguments['batch_size']} x {examples['sequence_length']}",
        masked,
        f"{arguments['optimizer']}, {schedule['learning_rate']:g}",
        f"{schedule['warmup_steps']:,}",
        f"{arguments['num_steps']:,}",
        f"{stage['num_positions']:,}",
    ]
    return f"| {' | '.join(cells)} |"


def collect_finetuning(paths):
    """Returns the accuracies by seed, from the model and from random weights."""
    runs = [read_json(path) for path in paths]
    groups = {"pretrained": {}, "random": {}}
    commands = []
    for printed in runs:
        arguments = options_of(RunFolder(printed["run"]).read())
        group = "random" if arguments["random_weights"] else "pretrained"
        groups[group][arguments["seed"]] = printed["accuracy"]
        commands.append(command_line("finetune", printed["run"], arguments))
    for group, accuracies in groups.items():
        if len(accuracies) < 2:
            raise SystemExit(
                "`--finetuned` must have runs of two or more seeds, from the model and "
                f"with --random-weights. Received: {len(accuracies)} that are {group}."
            )
    return {
        "num_examples": runs[0]["num_examples"],
        "majority_accuracy": runs[0]["majority_accuracy"],
        "commands": "\n".join(commands),
        **{group: summarize(accuracies) for group, accuracies in groups.items()},
    }


def summarize(accuracies):
    seeds = sorted(accuracies)
    values = [accuracies[seed] for seed in seeds]
    return {
        "seeds": seeds,
        "accuracies": values,
        "mean": statistics.mean(values),
        "deviation": statistics.stdev(values),
        "listed": ", ".join(f"{value:.1%}" for value in values),
    }


def options_of(description):
    """Returns the options of a run, those of its dicts among them, by name."""
    options = dict(description["config"])
    for group in [name for name, value in options.items() if isinstance(value, dict)]:
        options |= options.pop(group)
    return options


def command_line(command, run, arguments):
    """Returns the command with a run's recorded arguments."""
    words = ["albert-keras", command, "--run", str(run)]
    for name, value in arguments.items():
        if value is True or (name, value) == ("favor_shorter", False):
            words.append(flag_of(name))
        elif name in SWITCHED_OFF and value is False:
            words.append(f"--no-{name.replace('_', '-')}")
        elif value is not None and value is not False:
            words += as_options(name, value)
    return shlex.join(words)


def as_options(name, value):
    """Returns an option and its value or values as words."""
    if name in REPEATED:
        return [word for each in value for word in (flag_of(name), str(each))]
    values = value if isinstance(value, list) else [value]
    return [flag_of(name), *map(str, values)]


def checksums(folder):
    """Returns the output of `sha256sum` for all files of a model but its card."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "\n".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}"
        for path in files
        if path.name != CARD
    )


if __name__ == "__main__":
    main()
