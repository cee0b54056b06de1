#!/usr/bin/env python3
"""Repeats an ablation of the paper or of a recipe at a size for this machine.

Each arm is a pretraining run with several seeds, on one core each. In all arms of a seed,
weights of the same shape and the order of the documents are the same, and so are the
batches, unless the arm is about rows. Steps are equal, or for an ablation of
equal time as many as take equally long by measured core-seconds. With `--task`, all runs
are fine-tuned too, with default options. The folder gets
`results.json`, `table.md` (mean difference from the base arm and its standard error,
paired by seed, with the paper's own numbers) and `ablation.png`, which draws them.
`albert-keras analyze compare` draws learning curves of the runs. Called again, the script
resumes.

An arm with a run that never left the loss of unigrams is not compared: its numbers say
how soon it begins to learn, and not what it learns. So that small models leave it soon,
by default a vocabulary of 2,000 pieces is trained, rows have 16 tokens, and embeddings a
quarter of the hidden width.

examples:
  tools/experiments/ablate.py sharing --text corpus/ --output ablations/sharing
  tools/experiments/ablate.py sentence-task --text corpus/ --output ablations/pairs \
      --checkpoint albert_nano_en --sequence-length 32
  tools/experiments/ablate.py depth --text corpus/ --output ablations/depth --arms 1 3
  tools/experiments/ablate.py recipe --text corpus/ --output recipes --budget 150 \
      --tokenizer albert_nano_en --sequence-length 128 --task sst-2=GLUE/SST-2

Reference: Lan et al. 2020, tables 3 to 5, 7, 8, 11 and 12.
"""

import dataclasses
import functools
import itertools
import json
import pathlib
import shlex
import sys
import types
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.analysis.figures import finish_figure, new_figure
from albert_keras.converters import load_checkpoint, save_checkpoint
from albert_keras.pretraining import (
    PretrainingDataConfig,
    pretraining_validation_dataset,
    read_description,
)
from albert_keras.runs.reporting import note
from albert_keras.system.files import claimed_folder
from albert_keras.system.processor import usable_cores
from albert_keras.tasks import TASKS
from albert_keras.tokenizers import load_tokenizer
from tools.experiments import harness
from tools.experiments.compare_with_random import task_and_data
from tools.experiments.harness import NATS, Measure
from tools.ngram_baselines import ngram_loss
from tools.parser import new_parser

# Share of the minutes for steps; the rest is for vocabulary, starts and evaluations.
TRAINING_SHARE = 0.7
WARMUP, NUM_EVALUATIONS = 0.05, 4
BATCH = "batch_size=64"
# How rows are cut and masked where an arm does not say otherwise. All arms are measured
# on such rows.
ROWS = shlex.split(
    "--sentence-pairs none --masking token --masked-rate 0.2 --short-sequence-prob 0"
)
# A quarter of the hidden size. With the recipe's, which is the hidden size, few of the
# short runs leave the loss of unigrams: docs/results/ablations.md.
SHAPE = ("--embedding-dim", "32")
# For rows of 128 tokens and the vocabulary of `albert_nano_en`, as its recipes.
RECIPE = (
    "--recipe two_cores_long --learning-rate 0.002 --embedding-dim 128 "
    "--sentence-pairs sop --masking ngram"
)
# Of each run with `--task`; the other options are the defaults.
FINETUNING = "--num-steps 600 --steps-per-evaluation 600 --no-collapse-guard".split()
# Pairs that a probe is trained on, and measured on.
NUM_TRAIN, NUM_HELD_OUT = 10_000, 2_000
# Held-out nats below the loss of unigrams from which on a model has learned of context.
# Topics and frequencies alone give less.
PLATEAU_MARGIN = 0.1
# Options with which an ablation that is resumed may differ.
CHANGEABLE = ("output", "workers", "seeds", "arms")
# Dicts of `results.json`, most of them by arm.
KEPT = ("runs", "steps", "commands", "start", "core_seconds_per_step")


class Arm(NamedTuple):
    """A variant: its words of `pretrain`, and the paper's number.

    `phases` has pairs of a share of the steps and the options of its phase.
    """

    about: str
    options: str = ""
    paper: float | None = None
    phases: tuple = ((1, BATCH),)


class Ablation(NamedTuple):
    """Arms by name, the `base` that others are compared with, and what they share.

    `equal` is `"steps"` or `"time"`; `pairs` is whether rows of two segments are
    measured too, and `probes` are the sentence tasks that a linear probe is measured on;
    `measured` has the paper's accuracies by measure and arm; `options` are words of
    `pretrain`, before those of the arms.
    """

    about: str
    base: str
    arms: dict
    source: str | None = None
    equal: str = "steps"
    options: str = ""
    pairs: bool = False
    probes: tuple = ()
    measured: Mapping = types.MappingProxyType({})

    @property
    def paper(self):
        """The paper's numbers by arm, of the arms that have one."""
        return {n: a.paper for n, a in self.arms.items() if a.paper is not None}


def grown(*growth):
    """Returns phases of shares of the steps and applications, and the rest with all."""
    phases = [(share, f"{BATCH},num_layers={layers}") for share, layers in growth]
    return (*phases, (1 - sum(share for share, _ in growth), BATCH))


def depth(number, paper=None, growth=(), about=None):
    """Returns an arm with as many applications of the shared layer."""
    applications = f"{number} application{'s' if number > 1 else ''}"
    about = about or f"{applications} of the shared layer"
    return Arm(about, f"--num-layers {number}", paper, grown(*growth))


def width(size, paper):
    """Returns an arm of a hidden size, with heads of 32 columns, as those of the base."""
    about = f"hidden size {size}, feed-forward size {4 * size}"
    return Arm(about, f"--hidden-dim {size} --num-heads {size // 32}", paper)


DEPTHS = {"1": depth(1, 52.9), "3": depth(3), "6": depth(6), "12": depth(12)}
GROWTH = ((0.4, 1), (0.2, 3), (0.15, 6))
# Phases of a recipe: two thirds of the time on short rows, then on long ones.
SHORT, LONG = f"{BATCH},sequence_length=32,masking=token", "batch_size=32"
SHORT_GROWN = ((0.45, f"{SHORT},num_layers=1"), (0.18, f"{SHORT},num_layers=2"))
RECIPE_PHASES = (*SHORT_GROWN, (0.18, SHORT), (0.19, LONG))
# The same, for models whose layers start from one application, or from fewer than 12. At
# width 384 a model forgets all when it grows from one application to four at once.
(_, ONE), (_, TWO) = SHORT_GROWN
SIZE_PHASES = ((0.3, ONE), (0.15, TWO), (0.25, SHORT), (0.3, LONG))
ROWS_OF_64 = (*SIZE_PHASES[:3], (0.3, f"{BATCH},sequence_length=64"))
ONE_DEPTH = ((0.7, SHORT), (0.3, LONG))
# At 0.002 four layers with weights of their own stay at the loss of unigrams.
NOT_SHARED = "--sharing none --learning-rate 0.001"
DEEP_PHASES = (
    *((0.3, f"{SHORT},num_layers=1"), (0.35, f"{SHORT},num_layers=3")),
    *((0.2, f"{LONG},num_layers=3"), (0.1, f"{LONG},num_layers=6"), (0.05, LONG)),
)


def size(hidden_dim, number, phases=SIZE_PHASES, more=""):
    """Returns an arm of a hidden size and number of layers, with heads of 64 columns.

    The rate is inverse to the width: at 0.002, the rate for 256, a model of width 384
    falls back to the loss of unigrams when its layers are applied four times.
    """
    options = f"--hidden-dim {hidden_dim} --num-heads {hidden_dim // 64}"
    options += f" --learning-rate {0.512 / hidden_dim:.3g}"
    about = f"hidden size {hidden_dim}, {number} layers {more}"
    return Arm(about.strip(), f"{options} --num-layers {number} {more}", phases=phases)


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
    "width": Ablation(
        "hidden size, for equal steps",
        "128",
        {
            str(size): width(size, paper)
            for size, paper in {64: 71.2, 128: 74.6, 256: 76.3, 384: 74.0}.items()
        },
        "table 12, hidden sizes 1024, 2048, 4096, 6144",
    ),
    "size": Ablation(
        "hidden size and applications of the shared layer, for equal time",
        "256 x 3",
        {
            **{
                f"{w} x {n}": size(w, n)
                for w, n in ((256, 3), (384, 4), (512, 3), (512, 2))
            },
            "256 x 12": size(256, 12, DEEP_PHASES),
            "768 x 1": size(768, 1, ONE_DEPTH),
            "256 x 4, not shared": size(256, 4, ONE_DEPTH, NOT_SHARED),
            "256 x 3, rows of 64": size(256, 3, ROWS_OF_64),
        },
        equal="time",
        options=f"{RECIPE} --precision mixed_bfloat16",
        pairs=True,
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
        pairs=True,
        probes=("nsp", "sop"),
        measured={
            "mlm_accuracy": {"none": 54.9, "nsp": 54.5, "sop": 54.0},
            "probe_nsp": {"none": 52.4, "nsp": 90.5, "sop": 78.9},
            "probe_sop": {"none": 53.3, "nsp": 52.0, "sop": 86.5},
        },
    ),
    "recipe": Ablation(
        "changes of a recipe, for equal time",
        "base",
        {
            "base": Arm("1, 2, 3 applications", phases=RECIPE_PHASES),
            "not grown": Arm("3 at once", phases=((0.75, SHORT), (0.25, LONG))),
            "batch ramp": Arm(
                "batches of 32 long rows, then 64",
                phases=(*SHORT_GROWN, (0.18, SHORT), (0.13, LONG), (0.06, BATCH)),
            ),
            **{
                name: Arm(about, options, phases=RECIPE_PHASES)
                for name, about, options in (
                    ("ternary", "three classes", "--sentence-pairs ternary"),
                    ("distant", "distant pairs", "--sentence-pairs distant"),
                    ("hardest pairs", "the hardest half", "--hardest-pairs 0.5"),
                    ("no pairs", "masked words alone", "--sentence-pairs none"),
                    ("muon", "Muon", "--optimizer muon"),
                )
            },
        },
        equal="time",
        options=RECIPE,
        pairs=True,
    ),
}


MEASURES = {
    "mlm_loss": Measure("nats of a masked token", **NATS),
    "mlm_loss_pairs": Measure("the same, in rows of two segments", **NATS),
    "mlm_accuracy": Measure("accuracy of masked tokens"),
    "sop_accuracy": Measure("orders right"),
    "probe_nsp": Measure("accuracy of a probe of next sentences"),
    "probe_sop": Measure("accuracy of a probe of sentence orders"),
    **{name: Measure(name) for name in TASKS},
}


def main(argv=None):
    """Runs, measures and compares the runs that are missing."""
    arguments = parse(argv)
    arguments.output.mkdir(parents=True, exist_ok=True)
    with claimed_folder(arguments.output):
        config = {k: v for k, v in vars(arguments).items() if k not in CHANGEABLE}
        results = harness.read_results(arguments.output, config)
        for name in KEPT:
            results.setdefault(name, {})
        for name in arguments.arms:
            results["runs"].setdefault(name, {})
        prepare(arguments, results)
        plan(arguments, results)
        write(arguments, results)
        train(arguments, results)
        write(arguments, results)
    print((arguments.output / "table.md").read_text("utf-8"), end="")


def parse(argv):
    """Returns the arguments, with all arms unless some are named."""
    parser = new_parser(__doc__)
    parser.epilog = "\n".join(
        f"{n}: {a.about}. Arms: {', '.join(a.arms)}" for n, a in ABLATIONS.items()
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
    task = {"type": task_and_data, "metavar": "TASK=FOLDER", "default": []}
    add("--task", **task, action="append", help="to fine-tune: once for each (none)")
    add("--checkpoint", help="weights that all arms start from (default: random)")
    more = {"action": "append", "default": []}
    add("--pretrain-option", **more, help="of all arms, such as =--num-layers=2")
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


def tokenizer_of(arguments):
    """Returns the vocabulary of all arms."""
    own = arguments.output / "vocabulary.model"
    return str(arguments.tokenizer or arguments.checkpoint or own)


def prepare(arguments, results):
    """Makes the vocabulary, the token store, and the model that all arms start from."""
    tokens = arguments.output / "tokens"
    ablation, tokenizer = ABLATIONS[arguments.name], tokenizer_of(arguments)
    own = arguments.output / "vocabulary.model"
    if tokenizer == str(own) and not own.exists():
        words = ["train-vocabulary", *arguments.text, "--output", own]
        call(arguments, [*words, "--vocabulary-size", arguments.vocabulary_size])
    words = ["prepare-data", *arguments.text, "--tokenizer", tokenizer, *ROWS]
    words += ["--output", tokens, "--sequence-length", arguments.sequence_length]
    call(arguments, words)
    if "unigram_loss" not in results:
        data = tokens, tokens / "held_out"
        results["unigram_loss"] = ngram_loss(*data, load_tokenizer(tokenizer), 1)
    if arguments.checkpoint and ablation.probes and not results["start"]:
        # Else runs of the checkpoint's own sentence task would begin with a trained head.
        start = harness.with_pair_classes(load_checkpoint(arguments.checkpoint), 0)
        folder = arguments.output / "start"
        save_checkpoint(start, folder, tokenizer=load_tokenizer(tokenizer))
        results["start"] = probe(tokens, folder, ablation.probes)


def call(arguments, words):
    """Runs a command on one core, with its messages in a file."""
    harness.run_on_one_core(words, arguments.output / f"{words[0]}.log")


def command(arguments, name, num_steps, seed):
    """Returns the words of `pretrain` for a run of an arm, without its folder."""
    ablation, length = ABLATIONS[arguments.name], arguments.sequence_length
    arm = ablation.arms[name]
    tokens = arguments.output / "tokens"
    words = ["pretrain", "--data", tokens, "--validation-data", tokens / "held_out"]
    words += ["--tokenizer", tokenizer_of(arguments), *ROWS]
    words += ["--recipe", "two_cores", "--learning-rate", 0.003]
    words += ["--sequence-length", length, "--max-sequence-length", length]
    words += ["--seed", seed, "--warmup-steps", round(WARMUP * num_steps)]
    words += ["--steps-per-evaluation", max(1, num_steps // NUM_EVALUATIONS)]
    start = arguments.output / "start" if ablation.probes else arguments.checkpoint
    words += ["--checkpoint", start] if arguments.checkpoint else SHAPE
    words += shlex.split(ablation.options) + arguments.pretrain_option
    phases = [
        f"num_steps={max(1, round(share * num_steps))},{options}"
        for share, options in arm.phases
    ]
    return [*map(str, (*words, *shlex.split(arm.options), "--phases", *phases))]


def folder_of(arguments, name, seed):
    """Returns the folder of a run; its messages are in a file with the suffix `.log`."""
    return arguments.output / "runs" / name.replace(" ", "-") / f"seed-{seed}"


def plan(arguments, results):
    """Sets the steps of each arm, by the measured time of a step and the budget."""
    ablation, steps = ABLATIONS[arguments.name], results["steps"]
    missing = [name for name in arguments.arms if name not in steps]
    times = results["core_seconds_per_step"]
    for name in missing:
        note(f"{name}: measuring its steps")
        run = folder_of(arguments, name, "dry")
        words = command(arguments, name, 1000, 0)
        words += ["--run", run, "--dry-run", "--json"]
        measured = json.loads(harness.run_on_one_core(words, run.with_suffix(".log")))
        phases = measured.get("phases", {"1": measured}).values()
        shares = [share for share, _ in ablation.arms[name].phases]
        seconds = [phase["core_seconds_per_step"] for phase in phases]
        times[name] = float(np.dot(shares, seconds))
    total = 60 * arguments.budget * arguments.workers * TRAINING_SHARE
    of_seed = total / arguments.seeds
    equal = of_seed / sum(times[name] for name in arguments.arms)
    for name in missing:
        number = next(iter(steps.values()), equal)
        if ablation.equal == "time":
            number = of_seed / len(arguments.arms) / times[name]
        steps[name] = max(1, round(number))


def train(arguments, results):
    """Trains and measures the runs that are missing."""

    def train_one(name, seed):
        run = folder_of(arguments, name, seed)
        words = command(arguments, name, results["steps"][name], seed)
        words += ["--run", str(run)]
        results["commands"].setdefault(name, shlex.join(["albert-keras", *words]))
        harness.run_on_one_core(words, run.with_suffix(".log"))
        return run

    measure_one = functools.partial(measure, arguments)
    runs = {name: results["runs"][name] for name in arguments.arms}
    options = arguments.seeds, arguments.workers, train_one, measure_one
    for _ in harness.train_missing(runs, *options):
        write(arguments, results)


def measure(arguments, name, seed, run):
    """Returns the held-out figures of a run, and of its fine-tuning."""
    ablation, tokens = ABLATIONS[arguments.name], arguments.output / "tokens"
    data = tokens / "held_out"
    config = PretrainingDataConfig.from_dict(read_description(data)["config"])
    found = harness.measure_pretrained(run, data, config)
    figures = {name: found[name] for name in ("mlm_loss", "mlm_accuracy")}
    if ablation.pairs:
        config = dataclasses.replace(config, sentence_pairs="sop")
        found = harness.measure_pretrained(run, data, config)
        figures["mlm_loss_pairs"] = found["mlm_loss"]
        figures |= {key: found[key] for key in ("sop_accuracy",) if key in found}
    if ablation.probes:
        figures |= probe(tokens, run, ablation.probes)
    for task, rows in arguments.task:
        words = ["finetune", "--task", task, "--data", rows, "--checkpoint", run]
        words += ["--run", f"{run}-{task}", "--seed", seed, *FINETUNING, "--json"]
        log = run.with_suffix(f".{task}.log")
        scores = json.loads(harness.run_on_one_core(words, log))
        figures[task] = scores[scores["main_metric"]] / TASKS[task].perfect_score
    return figures


def probe(tokens, model, objectives):
    """Measures logistic regressions on the frozen pooled output of sentence pairs.

    So models of different sentence tasks, and of none, are scored in one way, whatever
    heads they have. The paper does not state how it scored a model on a task that it was
    not trained with. Inputs are masked as in training. A model of masked words alone has
    the pooler that it began with, since only the sentence task trains it.
    """
    from sklearn.linear_model import LogisticRegression

    backbone, scores = load_checkpoint(model, head=None), {}
    for objective in objectives:
        train = pooled_pairs(backbone, tokens, objective, NUM_TRAIN)
        test = pooled_pairs(backbone, tokens / "held_out", objective, NUM_HELD_OUT)
        centre = train[0].mean(axis=0)
        regression = LogisticRegression(max_iter=5000)
        regression.fit(train[0] - centre, train[1])
        scores[f"probe_{objective}"] = regression.score(test[0] - centre, test[1])
    return scores


def pooled_pairs(backbone, data, objective, num_pairs):
    """Returns the pooled output `(num_pairs, hidden_dim)` and labels of pairs."""
    from keras import tree

    from albert_keras.train_step import infer

    dataset = pretraining_validation_dataset(data, 64, sentence_pairs=objective)
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
    ablation = ABLATIONS[arguments.name]
    results |= compare(ablation, results)
    columns = {
        "variant": {name: ablation.arms[name].about for name in results["runs"]},
        "steps": {name: f"{n:,}" for name, n in results["steps"].items()},
        **({"paper, average of five tasks": ablation.paper} if ablation.source else {}),
        **{
            f"paper, {MEASURES[key].title}": numbers
            for key, numbers in ablation.measured.items()
        },
    }
    table = harness.arms_table(results["compared"], MEASURES, columns)
    table = "\n\n".join([table, *results["notes"], ""])
    harness.write_results(arguments.output, results, table)
    if results["compared"]:
        finish_figure(plot(ablation, results), arguments.output / "ablation.png")


def compare(ablation, results):
    """Returns `compared` and `notes` of the runs that are finished."""
    finished = {arm: runs for arm, runs in results["runs"].items() if runs}
    unigrams, base = results["unigram_loss"], ablation.base
    left, not_left = split_by_plateau(finished, unigrams)
    notes = []
    if ablation.source:
        notes.append(f"Paper: {ablation.source}; average of five tasks.")
    notes += [
        f"{arm} is not compared: with seed {', '.join(losses)} it stayed at the loss of "
        f"unigrams, {unigrams:.3f} nats. Give it more minutes, or shorter rows."
        for arm, losses in not_left.items()
    ]
    if base in not_left:
        notes.append("Without the base nothing is compared.")
    if ablation.probes:
        notes.append(
            "All arms, none too, are scored on sentence pairs by a logistic regression "
            "on their frozen pooled output. The arm none never trained its pooler."
        )
    for name, rate in results["start"].items():
        notes.append(f"Before the first step, of the checkpoint: {name} {rate:.1%}.")
    compared = harness.compare_arms(left, MEASURES, base) if base in left else {}
    return {"compared": compared, "notes": notes}


def split_by_plateau(runs, unigram_loss):
    """Separates arms that learned from context from those that did not.

    Args:
        runs: As of `harness.compare_arms`.
        unigram_loss: float. Loss of predicting by frequency alone.

    Returns:
        Tuple of two dicts: the runs of the arms all of whose seeds are at least
        `PLATEAU_MARGIN` below it; and of each other arm the losses by seed of those that
        are not.
    """
    stuck = {
        arm: {
            seed: run["mlm_loss"]
            for seed, run in of_arm.items()
            if run["mlm_loss"] > unigram_loss - PLATEAU_MARGIN
        }
        for arm, of_arm in runs.items()
    }
    left = {arm: of_arm for arm, of_arm in runs.items() if not stuck[arm]}
    return left, {arm: losses for arm, losses in stuck.items() if losses}


def plot(ablation, results):
    """Draws the differences from the base with their standard errors.

    Diamonds are the paper's differences.
    """
    compared, base = results["compared"], ablation.base
    arms = [arm for arm in compared if arm != base]
    measures = harness.found_measures(compared, MEASURES)
    measures.pop("mlm_accuracy", None)
    papers = {**ablation.measured}
    if ablation.paper.keys() & {*arms}:
        measures["paper"] = Measure("average of five tasks")
        papers["paper"] = ablation.paper
    figure = new_figure(max(8, 3.1 * len(measures) + 1), 1.6 + 0.32 * len(arms))
    panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
    for axes, (name, measure) in zip(panels, measures.items(), strict=True):
        axes.axvline(0, color="0.6", linewidth=1)
        numbers = papers.get(name, {})
        for y, arm in enumerate(arms):
            if found := compared[arm].get(name):
                x = measure.scale * found["difference"]
                error = measure.scale * (found["standard_error"] or 0)
                axes.errorbar(x, y, xerr=error, fmt="o", color="0.15", capsize=3)
            if arm in numbers and base in numbers:
                axes.plot(numbers[arm] - numbers[base], y, "D", color="0.15", mfc="w")
        axes.set_title(measure.title + (" (◇ paper)" if numbers else ""), fontsize=9)
        axes.set_xlabel(f"from {base}; {measure.better} is better", fontsize=9)
        axes.grid(axis="x", color="0.9")
        axes.margins(x=0.15)
    panels[0].set_yticks(range(len(arms)), arms)
    panels[0].set_ylim(max(1, len(arms)) - 0.5, -0.5)
    seeds = max(found["seeds"] for found in compared.values())
    title = f"{ablation.about.capitalize()}; {seeds} seeds, bars: standard errors"
    figure.suptitle(title, fontsize=11)
    return figure


if __name__ == "__main__":
    main()
