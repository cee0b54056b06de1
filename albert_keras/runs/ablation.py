"""Ablations: arms and seeds as runs side by side, compared in a table and a picture."""

import concurrent.futures
import dataclasses
import functools
import json
import pathlib
import shlex
import shutil
import subprocess

from albert_keras.analysis import read_log, unigram_loss
from albert_keras.analysis.ablation import ablation_table, plot_ablation
from albert_keras.analysis.arms import (
    check_orderings,
    compare_arms,
    split_by_plateau,
)
from albert_keras.analysis.sentence_probes import probe_sentence_pairs
from albert_keras.checks import import_optional
from albert_keras.child_process import usable_cores
from albert_keras.converters import load_checkpoint
from albert_keras.files import atomic_path, claimed_folder, read_json, write_json
from albert_keras.pretraining import PretrainingDataConfig, read_description
from albert_keras.runs.ablation_arms import ABLATIONS, AVERAGE
from albert_keras.runs.ablation_data import (
    AblationData,
    preparing_commands,
    pretraining_command,
    seconds_per_step,
)
from albert_keras.runs.measures import measure_pretrained, save_without_pairs
from albert_keras.runs.one_core import run_on_one_core
from albert_keras.runs.reporting import note
from albert_keras.tokenizers import load_tokenizer

# Share of the budget for steps; the rest is for vocabulary, starts and evaluations.
TRAINING_SHARE = 0.7
# Fields with which an ablation that is resumed may differ.
_CHANGEABLE = ("output", "workers", "seeds", "arms")
_TITLES = {
    "mlm_loss": "nats of a masked token",
    "mlm_loss_pairs": "the same, in rows of two segments",
    "mlm_accuracy": "accuracy of masked tokens",
    "probe_nsp": "accuracy of a probe of next sentences",
    "probe_sop": "accuracy of a probe of sentence orders",
}


class AblationRun:
    """Runs and compares the arms of an ablation, or resumes it in its folder.

    Each run is a command `pretrain` on one core, resumable by itself. In all arms of a
    seed, weights of the same shape and the order of the documents are the same, and so
    are the batches, unless the arm is about rows or documents. Steps are equal, or for an
    ablation of equal time as many as take equally long by measured core-seconds.

    An arm of which a run never left the loss of unigrams is not compared: its numbers
    say how soon it begins to learn, and not what it learns.

    The folder gets `ablation.json`, `table.md` and, with matplotlib, `ablation.png`.

    Args:
        config: `AblationConfig`.
        run_command: Function of words, `stdout` and `stderr` that runs a command of this
            package. Default: `run_on_one_core`.

    Example:

    ```python
    config = AblationConfig(name="dropout", text=("corpus/",), output="dropout")
    results = AblationRun(config).run()
    ak.plot_ablation(results, "dropout.png")
    ```

    Reference: Lan et al. 2020, tables 3 to 5, 7, 8, 11 and 12.
    """

    def __init__(self, config, run_command=run_on_one_core):
        self.config = config
        self.ablation = ABLATIONS[config.name]
        self.folder = pathlib.Path(config.output)
        tokenizer = config.tokenizer or config.checkpoint
        vocabulary = str(self.folder / "vocabulary.model")
        # Heads of sentence pairs are new in all arms.
        drops_pairs = config.checkpoint and self.ablation.probes
        start = self.folder / "start" if drops_pairs else config.checkpoint
        self.data = AblationData(tokenizer or vocabulary, self.folder, start)
        self.run_command = run_command
        self.num_workers = config.workers or usable_cores()

    def run(self):
        """Prepares, trains, measures and compares what is still missing.

        Returns:
            Dict: `name`, `about`, `base`, `equal`, `source`; of the paper `paper`, its
            `paper_unit`, and `paper_measured`, by measure; `unigram_loss`; by arm `arms`
            (the variants in words), `steps`, `core_seconds_per_step`, `runs` (dicts by
            seed of the numbers measured), `curves` (by seed `steps` and `values`) and
            `commands`; `measures`, the titles of the numbers; `compared`, as
            `compare_arms` returns it; `orderings`, as `check_orderings`; `not_left`, by
            arm the losses of runs at the loss of unigrams; `notes`; and with a
            checkpoint and probes `start`, its numbers before the first step.

        Raises:
            ValueError: If the folder has an ablation of other options.
            BlockingIOError: If another process works in the folder.
            subprocess.CalledProcessError: If a run fails; its messages are in a `.log`.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with claimed_folder(self.folder):
            state = self._read_state()
            self._prepare(state)
            self._plan(state)
            self._train(state)
            return self._write(state)

    def _read_state(self):
        """Returns what an earlier call recorded, with place for all arms."""
        own = {
            name: value
            for name, value in self.config.to_dict().items()
            if name not in _CHANGEABLE
        }
        file = self.folder / "ablation.json"
        state = read_json(file) if file.exists() else {"config": own}
        if state["config"] != own:
            changed = [n for n in own if state["config"].get(n) != own[n]]
            raise ValueError(
                "An ablation is resumed with the options that it began with. Received: "
                f"other {', '.join(changed)} for '{self.folder}'. Repeat them, or take "
                "another folder."
            )
        for name in ("steps", "core_seconds_per_step", "runs", "curves", "commands"):
            state.setdefault(name, {})
        for arm in self.config.chosen_arms:
            for name in ("runs", "curves"):
                state[name].setdefault(arm, {})
        return state

    def _prepare(self, state):
        for words in preparing_commands(self.config, self.data):
            note(f"{words[0]}: {words[-1] if words[0] != 'prepare-data' else 'tokens'}")
            self._call(words, self.folder / f"{words[0]}.log")
        self.held_out_config = PretrainingDataConfig.from_dict(
            read_description(self.data.held_out)["config"]
        )
        if "unigram_loss" not in state:
            tokenizer = load_tokenizer(self.data.tokenizer)
            state["unigram_loss"] = unigram_loss(
                self.data.store(1.0), self.data.held_out, tokenizer
            )
        if self.config.checkpoint and self.ablation.probes and "start" not in state:
            save_without_pairs(self.config.checkpoint, self.data.checkpoint)
            state["start"] = self._probe(self.data.checkpoint)

    def _plan(self, state):
        """Sets the steps of each arm, by the time of a step and the budget."""
        arms = self.config.chosen_arms
        missing = [arm for arm in arms if arm not in state["steps"]]
        if not missing:
            return
        with self._pool() as pool:
            seconds = pool.map(self._measure_step, missing)
            state["core_seconds_per_step"] |= dict(zip(missing, seconds, strict=True))
        times = {arm: state["core_seconds_per_step"][arm] for arm in arms}
        total = 60 * self.config.budget * self.num_workers * TRAINING_SHARE
        of_seed = total / self.config.seeds
        if self.ablation.equal == "time":
            planned = {arm: of_seed / len(arms) / s for arm, s in times.items()}
        else:
            before = state["steps"].values()
            steps = next(iter(before), of_seed / sum(times.values()))
            planned = dict.fromkeys(arms, steps)
        state["steps"] |= {arm: max(1, round(planned[arm])) for arm in missing}
        self._write(state)

    def _measure_step(self, arm):
        run = self.folder / "dry" / arm.replace(" ", "-")
        words = pretraining_command(
            self.config, self.data, self.config.chosen_arms[arm], 1000, 0, run
        )
        note(f"{arm}: measuring its steps")
        printed = self._call([*words, "--dry-run", "--json"], run.with_suffix(".log"))
        shutil.rmtree(run, ignore_errors=True)
        measured = json.loads(printed.stdout)
        return seconds_per_step(measured, self.config.chosen_arms[arm])

    def _train(self, state):
        """Trains and measures the runs that are missing, the seeds one after another."""
        with self._pool() as pool:
            training = {}
            for seed in map(str, range(self.config.seeds)):
                for arm in self.config.chosen_arms:
                    if seed not in state["runs"][arm]:
                        words, run = self._command(state, arm, seed)
                        command = shlex.join(["albert-keras", *words])
                        state["commands"].setdefault(arm, command)
                        future = pool.submit(self._call, words, run.with_suffix(".log"))
                        training[future] = (arm, seed, run)
            try:
                for finished in concurrent.futures.as_completed(training):
                    arm, seed, run = training[finished]
                    finished.result()
                    state["runs"][arm][seed] = measured = self._measure(run)
                    state["curves"][arm][seed] = _curve_of(run)
                    note(f"{arm}, seed {seed}: {measured['mlm_loss']:.3f} nats")
                    self._write(state)
            finally:
                pool.shutdown(cancel_futures=True)

    def _command(self, state, arm, seed):
        """Returns the words of a run's command, and its folder."""
        run = self.folder / "runs" / arm.replace(" ", "-") / f"seed-{seed}"
        words = pretraining_command(
            *(self.config, self.data, self.config.chosen_arms[arm]),
            *(state["steps"][arm], seed, run),
        )
        return words, run

    def _measure(self, run):
        found = measure_pretrained(run, self.data.held_out, pairs=False)
        measured = {name: found[name] for name in ("mlm_loss", "mlm_accuracy")}
        if self.ablation.probes:
            config = dataclasses.replace(self.held_out_config, sentence_pairs="sop")
            found = measure_pretrained(run, self.data.held_out, config=config)
            measured["mlm_loss_pairs"] = found["mlm_loss"]
            measured |= self._probe(run)
        return measured

    def _probe(self, model):
        backbone = load_checkpoint(model, head=None)
        return {
            f"probe_{objective}": probe_sentence_pairs(
                backbone, self.data.store(1.0), self.data.held_out, objective
            )["accuracy"]
            for objective in self.ablation.probes
        }

    def _call(self, words, log):
        """Runs a command, with its messages in a file."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as file:
            return self.run_command(words, stdout=subprocess.PIPE, stderr=file)

    def _pool(self):
        return concurrent.futures.ThreadPoolExecutor(self.num_workers)

    def _write(self, state):
        """Writes and returns the results of the runs that are finished."""
        results = state | compare(self.config, self.ablation, state)
        write_json(self.folder / "ablation.json", results)
        with atomic_path(self.folder / "table.md") as path:
            path.write_text(ablation_table(results), "utf-8")
        if results["compared"] and _can_draw():
            plot_ablation(results, self.folder / "ablation.png")
        return results


def _curve_of(run):
    """Returns the held-out losses of masked tokens of a run, `steps` and `values`."""
    log = read_log(run / "log.jsonl")
    # Of a model without sentence pairs it is the whole loss.
    steps, values = log.get("val_mlm_logits_loss") or log["val_loss"]
    return {"steps": steps, "values": values}


@functools.cache
def _can_draw():
    try:
        import_optional("matplotlib.figure", "plots")
    except ImportError:
        note("without matplotlib (extra `plots`) there is no picture")
        return False
    return True


def compare(config, ablation, state):
    """Returns the comparison of an ablation's finished runs, a dict as of `run`."""
    finished = {arm: runs for arm, runs in state["runs"].items() if runs}
    left, not_left = finished, {}
    if "unigram_loss" in state:
        left, not_left = split_by_plateau(finished, "mlm_loss", state["unigram_loss"])
    measured = [name for name in _TITLES if any(name in r for r in _runs_of(left))]
    has_base = ablation.base in left
    compared = compare_arms(left, measured, ablation.base) if has_base else {}
    return {
        "name": config.name,
        "about": ablation.about,
        "base": ablation.base,
        "equal": ablation.equal,
        "source": ablation.source,
        "paper": ablation.paper,
        "paper_unit": AVERAGE,
        "paper_measured": dict(ablation.measured),
        "arms": {name: ablation.arms[name].about for name in state["runs"]},
        "measures": {name: _TITLES[name] for name in measured},
        "compared": compared,
        "orderings": check_orderings(
            left, "mlm_loss", ablation.paper, lower_is_better=True
        ),
        "not_left": not_left,
        "notes": _notes(ablation, state, not_left, has_base or not finished),
    }


def _runs_of(arms):
    return [run for runs in arms.values() for run in runs.values()]


def _notes(ablation, state, not_left, has_base):
    notes = [
        f"{arm} is not compared: with seed {', '.join(losses)} it stayed at the loss of "
        f"unigrams, {state['unigram_loss']:.3f} nats. Give it more minutes, or shorter "
        "rows."
        for arm, losses in not_left.items()
    ]
    if not has_base:
        notes.append(
            f"Nothing is compared: {ablation.base}, the base, never left the loss of "
            "unigrams."
        )
    if ablation.probes:
        notes.append(
            "All arms, none too, are scored on sentence pairs by a logistic regression "
            "on their frozen pooled output. The arm none never trained its pooler."
        )
    if "start" in state:
        probes = ", ".join(
            f"{n} {100 * rate:.1f} %" for n, rate in state["start"].items()
        )
        notes.append(f"Before the first step, of the checkpoint: {probes}.")
    return notes
