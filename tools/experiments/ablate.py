#!/usr/bin/env python3
"""Repeats one of the paper's ablations at a size for this machine.

Each arm is a pretraining run with several seeds, on one core each. In all arms of a seed,
weights of the same shape and the order of the documents are the same, and so are the
batches, unless the arm is about rows or documents. Steps are equal, or for an ablation of
equal time as many as take equally long by measured core-seconds. The folder gets
`ablation.json`, `table.md` (mean difference from the base arm and its standard error,
paired by seed, with the paper's own numbers) and `ablation.png`, which has
learning curves too. Called again, it resumes.

An arm of which a run never left the loss of unigrams is not compared: its numbers say how
soon it begins to learn, and not what it learns. So that small models leave it soon, by
default a vocabulary of 2,000 pieces is trained, rows have 16 tokens, and embeddings a
quarter of the hidden width.

examples:
  tools/experiments/ablate.py sharing --text corpus/ --output ablations/sharing
  tools/experiments/ablate.py sentence-task --text corpus/ --output ablations/pairs \
      --checkpoint albert_nano_en --sequence-length 32
  tools/experiments/ablate.py depth --text corpus/ --output ablations/depth --arms 1 3

Reference: Lan et al. 2020, tables 3 to 5, 7, 8, 11 and 12.
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import types
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.analysis import read_log
from albert_keras.analysis.figures import finish_figure, line_style, new_figure
from albert_keras.converters import load_checkpoint, save_checkpoint
from albert_keras.pretraining import (
    PretrainingDataConfig,
    pretraining_validation_dataset,
    read_description,
)
from albert_keras.runs.reporting import note
from albert_keras.system.files import atomic_path, claimed_folder, read_json, write_json
from albert_keras.system.processor import usable_cores
from albert_keras.tokenizers import load_tokenizer
from tools.experiments.arms import (
    check_orderings,
    compare_arms,
    describe_difference,
    draw_differences,
    split_by_plateau,
    standard_error,
)
from tools.experiments.runs import (
    measure_pretrained,
    run_on_one_core,
    with_pair_classes,
)
from tools.ngram_baselines import unigram_loss

# Share of the minutes for steps; the rest is for vocabulary, starts and evaluations.
TRAINING_SHARE = 0.7
BATCH_SIZE, WARMUP, NUM_EVALUATIONS = 64, 0.05, 4
# How rows are cut and masked where an arm does not say otherwise. All arms are measured
# on such rows.
ROWS = shlex.split(
    "--sentence-pairs none --masking token --masked-rate 0.2 --short-sequence-prob 0"
)
# A quarter of the hidden size. With the recipe's, which is the hidden size, few of the
# short runs leave the loss of unigrams: docs/results/ablations.md.
SHAPE = ("--embedding-dim", "32")
# Pairs that a probe is trained on, and measured on.
NUM_TRAIN, NUM_HELD_OUT = 10_000, 2_000
# Options with which an ablation that is resumed may differ.
CHANGEABLE = ("output", "workers", "seeds", "arms")


class Arm(NamedTuple):
    """A variant: its words of `pretrain`, and the paper's number.

    `growth` has pairs of a share of the steps and the applications of the shared layer
    there; the rest of the steps has all. `documents` is the share of the documents.
    """

    about: str
    options: str = ""
    paper: float | None = None
    growth: tuple = ()
    documents: float = 1.0


class Ablation(NamedTuple):
    """Arms by name, the `base` that others are compared with, and what they share.

    `equal` is `"steps"` or `"time"`; `probes` are the sentence tasks that a linear
    probe is measured on; `measured` has the paper's accuracies by measure and arm.
    """

    about: str
    base: str
    arms: dict
    source: str = ""
    options: str = ""
    equal: str = "steps"
    probes: tuple = ()
    measured: Mapping = types.MappingProxyType({})

    @property
    def paper(self):
        """The paper's numbers by arm, of the arms that have one."""
        return {n: a.paper for n, a in self.arms.items() if a.paper is not None}


def depth(number, paper=None, growth=(), about=None):
    """Returns an arm with as many applications of the shared layer."""
    applications = f"{number} application{'s' if number > 1 else ''}"
    about = about or f"{applications} of the shared layer"
    return Arm(about, f"--num-layers {number}", paper, growth)


def width(size, paper):
    """Returns an arm of a hidden size, with heads of 32 columns, as those of the base."""
    about = f"hidden size {size}, feed-forward size {4 * size}"
    return Arm(about, f"--hidden-dim {size} --num-heads {size // 32}", paper)


DEPTHS = {"1": depth(1, 52.9), "3": depth(3), "6": depth(6), "12": depth(12)}
GROWTH = ((0.4, 1), (0.2, 3), (0.15, 6))

ABLATIONS = {
    "embedding-size": Ablation(
        "width of the embedding, with all layers shared",
        "32",
        {
            "16": Arm("an eighth of the hidden size", "--embedding-dim 16", 79.0),
            "32": Arm("a quarter", "--embedding-dim 32", 80.1),
            "64": Arm("half", "--embedding-dim 64", 79.6),
            "128": Arm("the hidden size", "--embedding-dim 128", 79.8),
        },
        "table 3, all-shared: widths 64, 128, 256, 768 for hidden size 768",
    ),
    "sharing": Ablation(
        "which parameters the layers share",
        "all",
        {
            "all": Arm("all parameters", "--sharing all", 80.1),
            "attention": Arm("attention alone", "--sharing attention", 81.7),
            "ffn": Arm("feed-forward networks alone", "--sharing ffn", 80.2),
            "none": Arm("nothing, as BERT", "--sharing none", 81.6),
        },
        "table 4, embedding size 128",
    ),
    "groups": Ablation(
        "groups of layers, each with parameters of its own",
        "1 group",
        {
            "1 group": Arm("all layers alike", "--num-groups 1"),
            "2 groups": Arm("groups of two layers", "--num-groups 2"),
            "4 groups": Arm("groups of one layer", "--num-groups 4"),
        },
        options="--num-layers 4",
    ),
    "depth": Ablation(
        "applications of the shared layer, for equal steps",
        "3",
        DEPTHS | {"3": depth(3, 71.2), "6": depth(6, 77.2), "12": depth(12, 81.5)},
        "table 11, where 3 layers and more start from fewer",
    ),
    "depth-growth": Ablation(
        "applications of the shared layer for equal time, from the start or grown",
        "3",
        DEPTHS
        | {
            "3 grown": depth(3, 71.2, GROWTH[:1], "1, then 3"),
            "6 grown": depth(6, 77.2, GROWTH[:2], "1, 3, then 6"),
            "12 grown": depth(12, 81.5, GROWTH, "1, 3, 6, then 12"),
        },
        "table 11, for equal steps of each depth",
        equal="time",
    ),
    "warm-start": Ablation(
        "six applications for equal time, from random weights or a shallower model",
        "random",
        {
            "random": depth(6, about="random weights"),
            "after 1": depth(6, None, ((0.5, 1),), "half of the steps with 1"),
            "after 3": depth(6, None, ((0.5, 3),), "half of the steps with 3"),
        },
        equal="time",
    ),
    "width": Ablation(
        "hidden size, for equal steps",
        "128",
        {
            str(size): width(size, paper)
            for size, paper in {64: 71.2, 128: 74.6, 256: 76.3, 384: 74.0}.items()
        },
        "table 12, hidden sizes 1024, 2048, 4096, 6144",
    ),
    "dropout": Ablation(
        "dropout in pretraining",
        "0",
        {
            "0": Arm("none", "--dropout 0", 90.7),
            "0.1": Arm("hidden values and attention", "--dropout 0.1", 90.4),
        },
        "table 8, xxlarge",
    ),
    "sentence-task": Ablation(
        "task of the sentence pairs",
        "none",
        {
            name: Arm(about, f"--sentence-pairs {name}", paper)
            for name, about, paper in (
                ("none", "masked tokens alone", 79.0),
                ("nsp", "following, or of another document", 79.2),
                ("sop", "in order, or swapped", 80.1),
                ("ternary", "following, swapped, or of another document", None),
                ("distant", "following, or distant in the document", None),
            )
        },
        "table 5",
        probes=("nsp", "sop"),
        measured={
            "mlm_accuracy": {"none": 54.9, "nsp": 54.5, "sop": 54.0},
            "probe_nsp": {"none": 52.4, "nsp": 90.5, "sop": 78.9},
            "probe_sop": {"none": 53.3, "nsp": 52.0, "sop": 86.5},
        },
    ),
    "masking": Ablation(
        "what is masked together, and how much",
        "token",
        {
            name: Arm(about, f"--masking {masking} --masked-rate {rate}")
            for name, about, masking, rate in (
                ("token", "tokens, 20 %", "token", 0.2),
                ("whole word", "whole words, 20 %", "whole_word", 0.2),
                ("n-gram", "up to three words, 20 %", "ngram", 0.2),
                ("token 10 %", "tokens, 10 %", "token", 0.1),
                ("token 40 %", "tokens, 40 %", "token", 0.4),
            )
        },
    ),
    "more-data": Ablation(
        "documents to train on, for equal steps",
        "all",
        {
            "a tenth": Arm("a tenth of the documents", paper=80.1, documents=0.1),
            "a third": Arm("a third of the documents", documents=0.33),
            "all": Arm("all documents", paper=80.8),
        },
        "table 7, Wikipedia and books, and with further data",
    ),
    "optimizer": Ablation(
        "optimizer, each with a learning rate of its own that was not searched for",
        "adamw",
        {
            "adamw": Arm("learning rate 0.003", "--optimizer adamw"),
            "lamb": Arm(
                "learning rate 0.006", "--optimizer lamb --learning-rate 0.006"
            ),
        },
    ),
}


@dataclasses.dataclass(frozen=True)
class Measure:
    """A figure of the runs: its title, its axis, and how it is written."""

    title: str
    axis: str = "points from {}; more is better"
    scale: int = 100
    digits: int = 1
    unit: str = " %"


NATS = ("nats from {}; less is better", 1, 3, "")
MEASURES = {
    "mlm_loss": Measure("nats of a masked token", *NATS),
    "mlm_loss_pairs": Measure("the same, in rows of two segments", *NATS),
    "mlm_accuracy": Measure("accuracy of masked tokens"),
    "probe_nsp": Measure("accuracy of a probe of next sentences"),
    "probe_sop": Measure("accuracy of a probe of sentence orders"),
}


def main(argv=None):
    """Runs, measures and compares the runs that are missing."""
    arguments = parse(argv)
    arguments.output.mkdir(parents=True, exist_ok=True)
    with claimed_folder(arguments.output):
        results = read_results(arguments)
        prepare(arguments, results)
        plan(arguments, results)
        train(arguments, results)
        write(arguments, results)
    print((arguments.output / "table.md").read_text("utf-8"), end="")


def parse(argv):
    """Returns the arguments, with all arms unless some are named."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="\n".join(
            f"{n}: {a.about}. Arms: {', '.join(a.arms)}" for n, a in ABLATIONS.items()
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("name", choices=ABLATIONS, help="what is varied")
    add("--text", nargs="+", required=True, help="as of `prepare-data`")
    add("--output", type=pathlib.Path, required=True, help="folder, to be resumed too")
    add("--tokenizer", help="as of `pretrain` (default: trained on the text)")
    add("--vocabulary-size", type=int, default=2000, help="pieces of that one")
    add("--sequence-length", type=int, default=16, help="tokens of a row")
    add("--arms", nargs="+", help="arms to run (default: all)")
    add("--seeds", type=int, default=3, help="runs of each arm")
    add("--budget", type=float, default=60, help="minutes of all runs together")
    add("--workers", type=int, default=usable_cores(), help="runs side by side")
    add("--checkpoint", help="weights that all arms start from (default: random)")
    add(
        "--pretrain-option",
        action="append",
        default=[],
        help="of all arms, such as =--num-layers=2; repeatable",
    )
    arguments = parser.parse_args(argv)
    ablation = ABLATIONS[arguments.name]
    arms = arguments.arms = arguments.arms or [*ablation.arms]
    if {*arms} - {*ablation.arms} or ablation.base not in arms or arguments.seeds < 2:
        parser.error(
            f"arms must be of {', '.join(ablation.arms)}, with {ablation.base}, and "
            f"seeds two or more. Received: --arms {' '.join(arms)} --seeds "
            f"{arguments.seeds}"
        )
    return arguments


def read_results(arguments):
    """Returns what an earlier call recorded, with place for all arms."""
    config = {
        name: value for name, value in vars(arguments).items() if name not in CHANGEABLE
    }
    file = arguments.output / "ablation.json"
    results = read_json(file) if file.exists() else {"config": config}
    if results["config"] != config:
        raise SystemExit(
            "An ablation is resumed with the options that it began with. Received: "
            f"{config} for {file} with {results['config']}."
        )
    for name in ("steps", "core_seconds_per_step", "commands", "start"):
        results.setdefault(name, {})
    for arm, name in itertools.product(arguments.arms, ("runs", "curves")):
        results.setdefault(name, {}).setdefault(arm, {})
    return results


def tokenizer_of(arguments):
    """Returns the vocabulary of all arms."""
    own = arguments.output / "vocabulary.model"
    return str(arguments.tokenizer or arguments.checkpoint or own)


def store(arguments, share=1.0):
    """Returns the folder of the token store with a share of the documents."""
    return arguments.output / ("tokens" if share == 1 else f"tokens-{share}")


def held_out(arguments):
    """Returns the store of the documents that all arms are measured on."""
    return store(arguments) / "held_out"


def prepare(arguments, results):
    """Makes the vocabulary, the token stores, and the model that all arms start from.

    A store with fewer documents holds out more of them, among these all that are held
    out of the whole, because documents are drawn by keys that depend on the seed alone.
    """
    ablation, tokenizer = ABLATIONS[arguments.name], tokenizer_of(arguments)
    own = arguments.output / "vocabulary.model"
    if tokenizer == str(own) and not own.exists():
        words = ["train-vocabulary", *arguments.text, "--output", own]
        call(arguments, [*words, "--vocabulary-size", arguments.vocabulary_size])
    for share in {1.0, *(ablation.arms[name].documents for name in arguments.arms)}:
        words = ["prepare-data", *arguments.text, "--tokenizer", tokenizer, *ROWS]
        words += ["--output", store(arguments, share)]
        words += ["--sequence-length", arguments.sequence_length]
        rest = ["--validation-split", round(1 - share, 6)] if share < 1 else []
        call(arguments, [*words, *rest])
    if "unigram_loss" not in results:
        results["unigram_loss"] = unigram_loss(
            store(arguments), held_out(arguments), load_tokenizer(tokenizer)
        )
    if arguments.checkpoint and ablation.probes and not results["start"]:
        # Else runs of the checkpoint's own sentence task would begin with a trained head.
        start = with_pair_classes(load_checkpoint(arguments.checkpoint), 0)
        folder = arguments.output / "start"
        save_checkpoint(start, folder, tokenizer=load_tokenizer(tokenizer))
        results["start"] = probe(arguments, folder)


def call(arguments, words, log=None):
    """Runs a command on one core, with its messages in a file; returns its output."""
    words = [*map(str, words)]
    log = log or arguments.output / f"{words[0]}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file:
        return run_on_one_core(words, stdout=subprocess.PIPE, stderr=file).stdout


def command(arguments, name, num_steps, seed, run):
    """Returns the words of `pretrain` for a run of an arm."""
    ablation, length = ABLATIONS[arguments.name], arguments.sequence_length
    arm = ablation.arms[name]
    words = ["pretrain", "--data", store(arguments, arm.documents), "--run", run]
    words += ["--validation-data", held_out(arguments)]
    words += ["--tokenizer", tokenizer_of(arguments), *ROWS]
    words += ["--recipe", "two_cores", "--learning-rate", 0.003]
    words += ["--batch-size", BATCH_SIZE, "--sequence-length", length]
    words += ["--max-sequence-length", length, "--seed", seed]
    words += ["--warmup-steps", round(WARMUP * num_steps)]
    words += ["--steps-per-evaluation", max(1, num_steps // NUM_EVALUATIONS)]
    start = arguments.output / "start" if ablation.probes else arguments.checkpoint
    words += ["--checkpoint", start] if arguments.checkpoint else SHAPE
    words += shlex.split(ablation.options) + arguments.pretrain_option
    words += shlex.split(arm.options)
    if not arm.growth:
        return [*map(str, (*words, "--num-steps", num_steps))]
    phases = [
        f"num_steps={max(1, round(share * num_steps))},batch_size={BATCH_SIZE}{layers}"
        for share, layers in phases_of(arm)
    ]
    return [*map(str, (*words, "--phases", *phases))]


def phases_of(arm):
    """Returns pairs of a share of the steps and an option of its phase."""
    phases = [(share, f",num_layers={layers}") for share, layers in arm.growth]
    return [*phases, (1 - sum(share for share, _ in phases), "")]


def plan(arguments, results):
    """Sets the steps of each arm, by the measured time of a step and the budget."""
    missing = [name for name in arguments.arms if name not in results["steps"]]
    times = results["core_seconds_per_step"]
    for name in missing:
        note(f"{name}: measuring its steps")
        run = arguments.output / "dry" / name.replace(" ", "-")
        words = [*command(arguments, name, 1000, 0, run), "--dry-run", "--json"]
        measured = json.loads(call(arguments, words, run.with_suffix(".log")))
        parts = measured.get("phases", {"": measured}).values()
        phases = phases_of(ABLATIONS[arguments.name].arms[name])
        times[name] = sum(
            share * part["core_seconds_per_step"]
            for (share, _), part in zip(phases, parts, strict=True)
        )
    seconds = 60 * arguments.budget * arguments.workers * TRAINING_SHARE
    of_seed = seconds / arguments.seeds
    equal = of_seed / sum(times[name] for name in arguments.arms)
    for name in missing:
        steps = next(iter(results["steps"].values()), equal)
        if ABLATIONS[arguments.name].equal == "time":
            steps = of_seed / len(arguments.arms) / times[name]
        results["steps"][name] = max(1, round(steps))
    write(arguments, results)


def train(arguments, results):
    """Trains and measures the runs that are missing, the seeds one after another."""
    with concurrent.futures.ThreadPoolExecutor(arguments.workers) as pool:
        training = {}
        for seed, name in itertools.product(range(arguments.seeds), arguments.arms):
            if str(seed) not in results["runs"][name]:
                run = (
                    arguments.output / "runs" / name.replace(" ", "-") / f"seed-{seed}"
                )
                words = command(arguments, name, results["steps"][name], seed, run)
                shown = shlex.join(["albert-keras", *words])
                results["commands"].setdefault(name, shown)
                log = run.with_suffix(".log")
                future = pool.submit(call, arguments, words, log)
                training[future] = name, str(seed), run
        try:
            for finished in concurrent.futures.as_completed(training):
                name, seed, run = training[finished]
                finished.result()
                results["runs"][name][seed] = found = measure(arguments, run)
                log = read_log(run / "log.jsonl")
                # Of a model without sentence pairs it is the whole loss.
                points = log.get("val_mlm_logits_loss") or log["val_loss"]
                curve = dict(zip(("steps", "values"), points, strict=True))
                results["curves"][name][seed] = curve
                note(f"{name}, seed {seed}: {found['mlm_loss']:.3f} nats")
                write(arguments, results)
        finally:
            pool.shutdown(cancel_futures=True)


def measure(arguments, run):
    """Returns the held-out figures of a run."""
    data = held_out(arguments)
    found = measure_pretrained(run, data, pairs=False)
    figures = {name: found[name] for name in ("mlm_loss", "mlm_accuracy")}
    if ABLATIONS[arguments.name].probes:
        config = PretrainingDataConfig.from_dict(read_description(data)["config"])
        config = dataclasses.replace(config, sentence_pairs="sop")
        found = measure_pretrained(run, data, config=config)
        figures["mlm_loss_pairs"] = found["mlm_loss"]
        figures |= probe(arguments, run)
    return figures


def probe(arguments, model):
    """Measures logistic regressions on the frozen pooled output of sentence pairs.

    So models of different sentence tasks, and of none, are scored in one way, whatever
    heads they have. The paper does not state how it scored a model on a task that it was
    not trained with. Inputs are masked as in training. A model of masked words alone has
    the pooler that it began with, since only the sentence task trains it.
    """
    from sklearn.linear_model import LogisticRegression

    backbone, scores = load_checkpoint(model, head=None), {}
    for objective in ABLATIONS[arguments.name].probes:
        train = pooled_pairs(backbone, store(arguments), objective, NUM_TRAIN)
        test = pooled_pairs(backbone, held_out(arguments), objective, NUM_HELD_OUT)
        centre = train[0].mean(axis=0)
        regression = LogisticRegression(max_iter=5000)
        regression.fit(train[0] - centre, train[1])
        score = float(regression.score(test[0] - centre, test[1]))
        scores[f"probe_{objective}"] = score
    return scores


def pooled_pairs(backbone, data, objective, num_pairs):
    """Returns the pooled output `(num_pairs, hidden_dim)` and labels of pairs."""
    from keras import tree

    from albert_keras.train_step import infer

    config = PretrainingDataConfig.from_dict(read_description(data)["config"])
    config = dataclasses.replace(config, sentence_pairs=objective)
    dataset = pretraining_validation_dataset(
        data, 64, sentence_pairs=objective, config=config
    )
    rows, labels = [], []
    for batch in itertools.islice(dataset, -(-num_pairs // 64)):
        features, targets, _ = tree.map_structure(np.asarray, batch)
        names = ("token_ids", "segment_ids", "padding_mask")
        inputs = {name: features[name] for name in names}
        rows.append(infer(backbone, inputs)["pooled_output"])
        labels.append(targets["sop_logits"])
    return np.concatenate(rows)[:num_pairs], np.concatenate(labels)[:num_pairs]


def write(arguments, results):
    """Compares the runs that are finished; writes figures, table and picture."""
    results |= compare(ABLATIONS[arguments.name], results)
    write_json(arguments.output / "ablation.json", results)
    with atomic_path(arguments.output / "table.md") as path:
        path.write_text(as_table(ABLATIONS[arguments.name], results), "utf-8")
    if results["compared"]:
        figure = plot(ABLATIONS[arguments.name], results)
        finish_figure(figure, arguments.output / "ablation.png")


def compare(ablation, results):
    """Returns `compared`, `orderings` and `notes` of the runs that are finished."""
    finished = {arm: runs for arm, runs in results["runs"].items() if runs}
    unigrams = results["unigram_loss"]
    left, not_left = split_by_plateau(finished, "mlm_loss", unigrams)
    orderings = check_orderings(left, "mlm_loss", ablation.paper, lower_is_better=True)
    has_base = ablation.base in left
    notes = []
    if ablation.source:
        notes.append(f"Paper: {ablation.source}; average of five tasks.")
    notes += [
        f"{each['better']} better than {each['worse']}: {each['verdict']}, "
        f"{each['difference']:+.3f} ± {each['standard_error']:.3f} nats, paper "
        f"{each['paper']:+.1f}."
        for each in orderings
    ]
    notes += [
        f"{arm} is not compared: with seed {', '.join(losses)} it stayed at the loss of "
        f"unigrams, {unigrams:.3f} nats. Give it more minutes, or shorter rows."
        for arm, losses in not_left.items()
    ]
    if ablation.base in not_left:
        notes.append("Without the base nothing is compared.")
    if ablation.probes:
        notes.append(
            "All arms, none too, are scored on sentence pairs by a logistic regression "
            "on their frozen pooled output. The arm none never trained its pooler."
        )
    for name, rate in results["start"].items():
        notes.append(f"Before the first step, of the checkpoint: {name} {rate:.1%}.")
    return {
        "compared": compare_arms(left, MEASURES, ablation.base) if has_base else {},
        "orderings": orderings,
        "notes": notes,
    }


def found_measures(results):
    """Returns the measures that some arm has."""
    return {
        key: measure
        for key, measure in MEASURES.items()
        if any(key in arm for arm in results["compared"].values())
    }


def as_table(ablation, results):
    """Returns the comparison as Markdown: a row for each arm, and notes."""
    found = found_measures(results)
    heads = ["arm", "variant", "steps", "seeds"]
    for key, measure in found.items():
        heads += [measure.title, f"less {ablation.base}"]
        heads += ["in the paper"] if key in ablation.measured else []
    heads.append("paper")
    lines = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for arm in results["runs"]:
        compared = results["compared"].get(arm, {})
        cells = [arm, ablation.arms[arm].about, f"{results['steps'][arm]:,}"]
        cells.append(str(compared.get("seeds", "-")))
        for key, measure in found.items():
            how = measure.scale, measure.digits, measure.unit
            cells += describe_difference(compared.get(key), *how)
            if key in ablation.measured:
                number = ablation.measured[key].get(arm)
                cells.append("-" if number is None else f"{number} %")
        cells.append(str(ablation.paper.get(arm, "-")))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n" + "".join(f"\n{n}\n" for n in results["notes"])


def plot(ablation, results):
    """Draws differences from the base with error bars, and learning curves below.

    Beside each measure stand the paper's differences, and on the right those of its
    average. Curves are means over the seeds with their standard errors.
    """
    arms = [arm for arm in results["compared"] if arm != ablation.base]
    measures = {n: m for n, m in found_measures(results).items() if n != "mlm_accuracy"}
    paper = ablation.paper if ablation.paper.keys() & {*arms} else {}
    num_panels = len(measures) + bool(paper)
    figure = new_figure(max(8, 3.1 * num_panels + 1), 5 + 0.32 * len(arms))
    below = figure
    # Where only the base has learned something, there is no difference to draw.
    if arms:
        heights = (1.3 + 0.32 * len(arms), 3.7)
        above, below = figure.subfigures(2, 1, height_ratios=heights)
        panels = above.subplots(1, num_panels, squeeze=False, sharey=True)[0]
        for axes, (key, measure) in zip(panels, measures.items(), strict=False):
            draw_differences(axes, results["compared"], arms, key, measure.scale)
            numbers = ablation.measured.get(key, {})
            draw_paper(axes, numbers, arms, ablation.base)
            axes.set_title(
                measure.title + (" (◇ paper)" if numbers else ""), fontsize=9
            )
            axes.set_xlabel(measure.axis.format(ablation.base), fontsize=9)
        if paper:
            draw_differences(panels[-1], {}, arms, "paper")
            draw_paper(panels[-1], paper, arms, ablation.base)
            panels[-1].set_title("paper: average of five tasks", fontsize=9)
            label = Measure.axis.format(ablation.base)
            panels[-1].set_xlabel(label, fontsize=9)
        panels[0].set_yticks(range(len(arms)), arms)
        panels[0].set_ylim(len(arms) - 0.5, -0.5)
        for axes in panels:
            axes.margins(x=0.15)
    curves = below.subplots()
    draw_curves(curves, results, ablation.equal == "time")
    handles, labels = curves.get_legend_handles_labels()
    ncols = 4 if len(labels) > 6 else len(labels)
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols)
    seeds = max(found["seeds"] for found in results["compared"].values())
    title = f"{ablation.about.capitalize()}; {seeds} seeds, bars: standard errors"
    figure.suptitle(title, fontsize=11)
    return figure


def draw_paper(axes, numbers, arms, base):
    """Draws a paper's differences from the base, of the arms that it has."""
    style = {"color": "0.15", "markerfacecolor": "w", "markersize": 6}
    for y, arm in enumerate(arms):
        if arm in numbers and base in numbers:
            axes.plot(numbers[arm] - numbers[base], y, "D", **style)


def draw_curves(axes, results, by_time):
    """Draws the mean held-out loss of each arm's seeds, by steps or core-minutes."""
    for place, (arm, curves) in enumerate(results["curves"].items()):
        by_seed = [dict(zip(*curve.values(), strict=True)) for curve in curves.values()]
        # Only the steps that all seeds have.
        steps = sorted(set.intersection(*map(set, by_seed))) if by_seed else []
        if not steps:
            continue
        values = [[curve[step] for curve in by_seed] for step in steps]
        scale = results["core_seconds_per_step"][arm] / 60 if by_time else 1
        axes.errorbar(
            [scale * step for step in steps],
            [statistics.mean(each) for each in values],
            [standard_error(each) or 0 for each in values],
            label=arm,
            **{"markersize": 4, "capsize": 2, "linewidth": 1.3, **line_style(place)},
        )
    dots = {"color": "0.3", "linestyle": (0, (1, 3))}
    axes.axhline(results["unigram_loss"], label="unigrams", **dots)
    axes.set_xlabel("core-minutes of steps" if by_time else "step")
    axes.set_ylabel("held-out nats of a masked token")
    axes.grid(color="0.9")


if __name__ == "__main__":
    main()
