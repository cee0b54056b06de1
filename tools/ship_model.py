#!/usr/bin/env python3
"""Writes a pretraining run to `saved_models/` as a shipped model, with its card.

The folder gets the run's model in float32, its log and learning curve, `results.json`
with all figures, and `README.md`, the template of `tools/model_cards/` with these
figures. If the run began with the checkpoint of another run or with a shipped model, log
and figures include the earlier training. A shipped model keeps what is not given, such as
its weights.

examples:
  tools/ship_model.py albert_nano_en --run run/nano --evaluation evaluation.json \
      --other-text other.json --speed speed.json --text .
  tools/ship_model.py albert_nano_en --comparisons sst2/results.json tasks/results.json
"""

import hashlib
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from albert_keras.analysis import count_parameters, parameter_table, plot_learning_curve
from albert_keras.models import AlbertPretrainer
from albert_keras.models.copies import in_precision
from albert_keras.presets.hub import DESCRIPTIONS, FOLDER, SHIPPED_MODELS
from albert_keras.pretraining.phases import Phase
from albert_keras.runs.folder import RunFolder
from albert_keras.system.files import (
    atomic_folder,
    check_replaceable_folder,
    read_json,
    write_json,
)
from albert_keras.tokenizers import AlbertTokenizer
from tools.experiments.compare_with_random import as_table, mean_of_tasks
from tools.parser import new_parser

ROOT = pathlib.Path(__file__).resolve().parents[1]
CARDS = ROOT / "tools" / "model_cards"
CARD = "README.md"
# Options with files of figures.
MEASURED = ("evaluation", "other_text", "speed")
# Lan et al. 2020: 125,000 steps of 4,096 rows of length 512.
PAPER_POSITIONS = 125_000 * 4_096 * 512


def main(argv=None):
    arguments = parse(argv)
    output = arguments.output or ROOT / "saved_models" / arguments.name
    check_replaceable_folder(output, "config.json")
    results = collect_results(arguments, output)
    template = (CARDS / "english.md").read_text("utf-8")
    with atomic_folder(output) as folder:
        if arguments.run:
            copy_run(arguments.run, folder, arguments.name)
        else:
            shutil.copytree(output, folder, dirs_exist_ok=True)
        write_json(folder / "results.json", results)
        size = (folder / "model.weights.h5").stat().st_size
        card = template.format(**results, size=size, checksums=checksums(folder))
        (folder / CARD).write_text(card, "utf-8")
    print(output)


def parse(argv):
    parser = new_parser(__doc__)
    add, path = parser.add_argument, {"type": pathlib.Path}
    add("name", choices=sorted(DESCRIPTIONS))
    add("--run", **path, help="run of `pretrain`")
    add("--evaluation", **path, help="file of scores of ngram_baselines.py")
    add("--other-text", **path, help="the same on a source that was not trained on")
    add("--speed", **path, help="what inference.py prints as JSON of an embedder")
    add("--comparisons", **path, nargs="+", help="files of compare_with_random.py")
    add("--text", **path, help="folder of train_SOURCE.jsonl and held_SOURCE.jsonl")
    add("--note", default="", help="further text for the card")
    add("--output", **path)
    arguments = parser.parse_args(argv)
    of_run = [getattr(arguments, name) for name in ("text", *MEASURED)]
    if arguments.run and None in of_run:
        parser.error("with --run give --evaluation, --other-text, --speed and --text")
    return arguments


def copy_run(run, folder, name):
    """Writes a run's model in float32, its log and its learning curve."""
    model = in_precision(AlbertPretrainer.from_preset(run / "model"))
    model.save_to_preset(str(folder))
    AlbertTokenizer.from_preset(run / "model").save_to_preset(str(folder))
    log = "".join(f"{json.dumps(entry)}\n" for entry in read_whole_log(run))
    (folder / "log.jsonl").write_text(log, "utf-8")
    with tempfile.TemporaryDirectory() as parent:
        # The title has the last two names.
        drawn = pathlib.Path(parent, "saved_models", name)
        drawn.mkdir(parents=True)
        for path in (run / "run.json", run / "report.json", folder / "log.jsonl"):
            if path.exists():
                shutil.copy(path, drawn)
        plot_learning_curve(drawn, folder / "learning_curve.png")


def whole_training(run):
    """Returns the folders of a training, the oldest first: runs, or a shipped model."""
    earlier = training_before(run)
    return [*(whole_training(earlier) if earlier else ()), run]


def read_whole_log(run):
    """Returns the log of a whole training; steps and seconds go on in later runs."""
    entries = []
    for folder in whole_training(run):
        log = folder / "log.jsonl"
        lines = log.read_text("utf-8").splitlines() if log.exists() else ()
        before = entries[-1] if entries else {"step": 0, "seconds": 0}
        for entry in map(json.loads, lines):
            sums = {name: entry[name] + before[name] for name in ("step", "seconds")}
            entries.append(entry | sums)
    return entries


def training_before(folder):
    """Returns the run or shipped model whose checkpoint a run began with, or None."""
    if not (folder / "run.json").exists():
        return None
    checkpoint = options_of(RunFolder(folder).read()).get("checkpoint")
    if checkpoint is None:
        return None
    parent = FOLDER if checkpoint in SHIPPED_MODELS else "."
    earlier = pathlib.Path(parent, checkpoint)
    is_known = any((earlier / name).exists() for name in ("run.json", "results.json"))
    return earlier if is_known else None


def collect_results(arguments, output):
    """Returns all figures under the names in the card."""
    run = (
        collect_run(arguments) if arguments.run else read_json(output / "results.json")
    )
    results = {"comparisons": {"table": "Not measured."}, **run}
    for name in MEASURED:
        if getattr(arguments, name):
            results[name] = read_json(getattr(arguments, name))
    if arguments.comparisons:
        results["comparisons"] = collect_comparisons(arguments.comparisons)
    return results


def collect_run(arguments):
    """Returns the figures of the model, its text and its training."""
    run = arguments.run
    config = AlbertPretrainer.from_preset(run / "model").backbone.albert_config
    metadata = read_json(run / "model" / "metadata.json").items()
    return {
        "name": arguments.name,
        "versions": {n: v for n, v in metadata if n.endswith("_version")},
        "config": config.to_dict(),
        "parameters": {
            "backbone": count_parameters(config),
            "with_heads": sum(parameter_table(config).values()),
        },
        "sources": count_sources(arguments.text),
        "pretraining": {"note": arguments.note, **collect_training(run)},
    }


def count_sources(folder):
    """Returns the documents and characters of each source, and the card's table."""
    counts, rows = {}, []
    for source, (about, licence) in read_json(CARDS / "sources.json").items():
        parts = {}
        for part, prefix in (("train", "train_"), ("held_out", "held_")):
            path = folder / f"{prefix}{source}.jsonl"
            if path.exists():
                with open(path, encoding="utf-8") as lines:
                    lengths = [len(json.loads(line)["text"]) for line in lines]
                parts[part] = {"documents": len(lengths), "characters": sum(lengths)}
        if "train" not in parts:
            continue
        train, held = parts["train"], parts.get("held_out", {"documents": 0})
        numbers = train["documents"], train["characters"], held["documents"]
        cells = [about, licence, *(f"{number:,}" for number in numbers)]
        rows.append(f"| {' | '.join(cells)} |")
        counts[source] = parts
    return {"counts": counts, "table": "\n".join(rows)}


def collect_training(run):
    """Returns the figures of the pretraining of a run, and of all runs before it."""
    figures = [
        collect_pretraining(folder)
        if (folder / "run.json").exists()
        else read_json(folder / "results.json")["pretraining"]
        for folder in whole_training(run)
    ]
    texts = {
        name: "\n".join(each[name] for each in figures)
        for name in ("schedule", "table")
    }
    numbers = ("num_positions", "num_epochs")
    sums = {name: sum(each[name] for each in figures) for name in numbers}
    times = PAPER_POSITIONS / sums["num_positions"]
    return {**figures[-1], **texts, **sums, "times_less_than_the_paper": times}


def collect_pretraining(run):
    """Returns the options, phases and totals of a run; positions include padding."""
    description = RunFolder(run).read()
    arguments = options_of(description)
    data = read_json(pathlib.Path(description["data"], "dataset.json"))
    # Resolved, since the arguments lack what a recipe set.
    schedule, examples = description["schedule"], description["examples"]
    whole = Phase(arguments["num_steps"], arguments["batch_size"])
    phases = [*map(Phase.parse, arguments["phases"] or ())] or [whole]
    rows = [phase_as_row(phase, examples) for phase in phases]
    num_positions = sum(row.pop("positions") for row in rows)
    corpus_tokens = data["report"]["num_corpus_tokens"]
    return {
        "arguments": arguments,
        "examples": examples,
        "schedule": (
            f"- {arguments['num_steps']:,} steps with {arguments['optimizer']} in "
            f"{arguments['precision']}. The learning rate rises to "
            f"{schedule['learning_rate']:g} in {schedule['warmup_steps']:,} steps, and "
            "then falls linearly to zero."
        ),
        "table": "\n".join(row["row"] for row in rows),
        "corpus_tokens": corpus_tokens,
        "num_positions": num_positions,
        "num_epochs": num_positions / corpus_tokens,
    }


def phase_as_row(phase, examples):
    """Returns a phase's row in the card's table, and its positions."""
    examples = examples | phase.data_options
    masked = f"{examples['masked_rate']:.0%}, {examples['masking']}"
    if examples["masking"] == "ngram":
        masked += f" of up to {examples['max_ngram']} words"
    positions = phase.num_steps * phase.batch_size * examples["sequence_length"]
    row = (
        f"| {phase.batch_size} x {examples['sequence_length']} | "
        f"{phase.num_layers or 'all'} | {masked} | {phase.num_steps:,} | {positions:,} |"
    )
    return {"row": row, "positions": positions}


def collect_comparisons(paths):
    """Returns the comparisons with random weights, and their table."""
    tasks = {}
    for path in paths:
        tasks |= read_json(path)["tasks"]
    results = {"tasks": tasks, "mean": mean_of_tasks(tasks)}
    return {**results, "table": as_table(results)}


def options_of(description):
    """Returns the options of a run by name, with those in its dicts."""
    options = dict(description["config"])
    for group in [name for name, value in options.items() if isinstance(value, dict)]:
        options |= options.pop(group)
    return options


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
