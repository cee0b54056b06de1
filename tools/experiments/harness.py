"""Harness of the experiments: arms with several seeds, trained, measured and compared.

An arm is a variant of a pretraining run. Each run has one core. An experiment has a
folder with `results.json`, and is resumed: runs whose figures are in that file are not
repeated. Differences from the base arm are paired by seed.
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.converters import load_checkpoint
from albert_keras.models import AlbertPretrainer
from albert_keras.pretraining import PretrainingTask
from albert_keras.runs.reporting import note
from albert_keras.system.files import atomic_path, read_json, write_json
from tools.tables import markdown_table

# One thread for each of the processes side by side, and no GPU, whose memory TensorFlow
# would reserve.
ONE_CORE = {
    **{"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"},
    **{"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "-1"},
}
# Objectives whose first classes are in order and swapped.
ORDERS = ("sop", "ternary")


class Measure(NamedTuple):
    """A figure of the runs.

    Attributes:
        title: str. Its column.
        better: str. `"more"` or `"less"`.
        scale, digits, unit: Factor, decimals and unit with which it is written.
    """

    title: str
    better: str = "more"
    scale: int = 100
    digits: int = 1
    unit: str = " %"


NATS = {"better": "less", "scale": 1, "digits": 3, "unit": ""}


# === Runs ===


def run_on_one_core(words, log):
    """Runs a command of the package in a process of its own; returns its output.

    Args:
        words: List, the command and its arguments.
        log: Path of a file for its messages.

    Raises:
        subprocess.CalledProcessError: If the command fails.
    """
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file:
        return subprocess.run(
            [sys.executable, "-P", "-m", "albert_keras", *map(str, words)],
            env={**os.environ, **ONE_CORE, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            check=True,
        ).stdout


def measure_pretrained(run, data, config):
    """Measures a pretraining run on held-out rows of any sentence task.

    Args:
        run: path of the run.
        data: Held-out token store.
        config: `PretrainingDataConfig` of its rows: single texts, or pairs in order or
            swapped. The accuracy of their order is measured where the model learned it.

    Returns:
        Dict as of `PretrainingTask.evaluate`, with the accuracy of two classes.
    """
    trained = load_checkpoint(run)
    learned = read_json(run / "run.json")["examples"]["sentence_pairs"]
    knows_order = config.sentence_pairs == "sop" and learned in ORDERS
    model = with_pair_classes(trained, 2 if knows_order else 0)
    if knows_order:
        kernel, bias = trained.pair_head.get_weights()
        model.pair_head.set_weights([kernel[:, :2], bias[:2]])
    task = PretrainingTask("sop" if knows_order else "none")
    return task.evaluate(model, data, 32, config=config)


def with_pair_classes(trained, num_classes):
    """Returns a pretrained model with another head of sentence pairs, which is new."""
    model = AlbertPretrainer(trained.backbone, num_classes)
    model.mlm_head.set_weights(trained.mlm_head.get_weights())
    return model


def read_results(folder, config):
    """Returns the results of an earlier call.

    Args:
        folder: path of the experiment.
        config: Dict of the options with which it may not differ.

    Raises:
        SystemExit: If the experiment began with other options.
    """
    file, config = folder / "results.json", json.loads(json.dumps(config))
    results = read_json(file) if file.exists() else {"config": config}
    if results["config"] != config:
        raise SystemExit(
            "An experiment is resumed with the options that it began with. Received: "
            f"{config} for {file} with {results['config']}."
        )
    return results


def train_missing(runs, seeds, workers, train, measure):
    """Trains the runs that are missing, several side by side, one seed after another.

    Args:
        runs: Dict by arm of dicts by seed of dicts of figures, which it fills.
        seeds, workers: int. Runs of each arm, and runs side by side.
        train: Function of arm and seed that trains a run, or resumes it, and returns it.
        measure: Function of arm, seed and run that returns the figures.

    Yields:
        None, after each run that was measured.
    """
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        training = {
            pool.submit(train, arm, seed): (arm, str(seed))
            for seed, arm in itertools.product(range(seeds), runs)
            if str(seed) not in runs[arm]
        }
        try:
            for finished in concurrent.futures.as_completed(training):
                arm, seed = training[finished]
                runs[arm][seed] = figures = measure(arm, seed, finished.result())
                note(f"{arm}, seed {seed}: {figures}")
                yield
        finally:
            pool.shutdown(cancel_futures=True)


# === Comparison ===


def compare_arms(runs, measures, base):
    """Compares the arms of an experiment with one of them.

    Args:
        runs: Dict by arm of dicts by seed of dicts of the numbers measured.
        measures: Names of these numbers; a run may lack some.
        base: str. The arm that the others are compared with.

    Returns:
        Dict by arm: `seeds`, the number of its runs; and by measure a dict of `mean`,
        `difference` from the base over the seeds that both have, and its
        `standard_error`, None for one seed.

    Example:

    >>> runs = {"base": {"0": {"loss": 5.0}, "1": {"loss": 6.0}},
    ...         "wide": {"0": {"loss": 4.5}, "1": {"loss": 5.0}}}
    >>> compare_arms(runs, ["loss"], "base")["wide"]["loss"]
    {'mean': 4.75, 'difference': -0.75, 'standard_error': 0.25}
    """
    compared = {arm: {"seeds": len(runs[arm])} for arm in runs}
    for arm, measure in itertools.product(runs, measures):
        own, of_base = (
            {seed: run[measure] for seed, run in runs[name].items() if measure in run}
            for name in (arm, base)
        )
        differences = [own[seed] - of_base[seed] for seed in own if seed in of_base]
        if differences:
            compared[arm][measure] = {
                "mean": statistics.mean(own.values()),
                "difference": statistics.mean(differences),
                "standard_error": standard_error(differences),
            }
    return compared


def standard_error(values):
    """Returns the standard error of a mean, None for one value."""
    if len(values) < 2:
        return None
    return statistics.stdev(values) / len(values) ** 0.5


def describe_difference(found, measure):
    """Returns a mean, and the difference from the base with its standard error.

    Args:
        found: Dict of a measure, as `compare_arms` returns it, or None.
        measure: `Measure`.

    >>> found = {"mean": 4.75, "difference": -0.75, "standard_error": 0.25}
    >>> describe_difference(found, Measure("nats", **NATS))
    ('4.750', '-0.750 ± 0.250')
    """
    if found is None:
        return "-", "-"
    scale, digits = measure.scale, measure.digits
    described = f"{scale * found['difference']:+.{digits}f}"
    if found["standard_error"] is not None:
        described += f" ± {scale * found['standard_error']:.{digits}f}"
    return f"{scale * found['mean']:.{digits}f}{measure.unit}", described


def found_measures(compared, measures):
    """Returns the measures that an arm has, a dict of `Measure`."""
    names = {name for arm in compared.values() for name in arm}
    return {name: measure for name, measure in measures.items() if name in names}


def arms_table(compared, measures, columns):
    """Returns the comparison as Markdown, a row for each arm.

    Args:
        compared: What `compare_arms` returns.
        measures: Dict of `Measure` by name.
        columns: Dict by title of dicts by arm: further columns, after the arm. They have
            all arms, also those that are not compared.
    """
    found = found_measures(compared, measures)
    heads = ["arm", *columns, "seeds"]
    for measure in found.values():
        heads += [measure.title, "difference"]
    rows = []
    for arm in next(iter(columns.values())):
        of_arm = compared.get(arm, {})
        cells = [arm, *(str(column.get(arm, "-")) for column in columns.values())]
        cells.append(str(of_arm.get("seeds", "-")))
        for name, measure in found.items():
            cells += describe_difference(of_arm.get(name), measure)
        rows.append(cells)
    return markdown_table(heads, rows)


def write_results(folder, results, table):
    """Writes `results.json` and `table.md`."""
    write_json(folder / "results.json", results)
    with atomic_path(folder / "table.md") as path:
        path.write_text(table, "utf-8")
