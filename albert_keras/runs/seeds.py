"""Fine-tuning with several seeds, since small tasks vary from seed to seed."""

import dataclasses
import pathlib
import statistics

from albert_keras.runs.reporting import flatten, note
from albert_keras.system.files import write_json
from albert_keras.training import TrainingCollapsedError


def fit_seeds(config, run_class):
    """Fits one run per seed of a `FinetuningRunConfig`, each in a folder of its own.

    Returns:
        Dict, also in `seeds.json`: `median` and `spread` (greatest less smallest) of each
        score over the seeds that did not collapse, and `runs`, the scores of each by
        folder.

    Raises:
        TrainingCollapsedError: If all of them collapse.
    """
    runs = {}
    for seed in range(config.seed, config.seed + config.seeds):
        folder = str(pathlib.Path(config.run, f"seed-{seed}"))
        note(f"seed {seed}, in {folder}")
        one = dataclasses.replace(config, seed=seed, seeds=1, run=folder)
        try:
            runs[folder] = run_class(one).fit()
        except TrainingCollapsedError as error:
            collapsed = error
            note(error.reason)
            runs[folder] = {"collapsed": error.reason}
    finished = [result for result in runs.values() if "collapsed" not in result]
    if not finished:
        raise collapsed
    results = {
        "seeds": config.seeds,
        "collapsed_seeds": config.seeds - len(finished),
        **summarize(finished),
        "runs": runs,
    }
    write_json(pathlib.Path(config.run, "seeds.json"), results)
    return results


def summarize(results):
    """Returns median and spread of each number that all results have, by dotted name.

    Example:

    >>> summarize([{"a": 1.0, "b": {"c": 5}}, {"a": 2.0, "b": {"c": 9}}])
    {'median': {'a': 1.5, 'b.c': 7.0}, 'spread': {'a': 1.0, 'b.c': 4}}
    """
    flat = [dict(flatten(result)) for result in results]
    values = {
        name: [result[name] for result in flat]
        for name, value in flat[0].items()
        if isinstance(value, (int, float)) and all(name in result for result in flat)
    }
    return {
        "median": {name: statistics.median(xs) for name, xs in values.items()},
        "spread": {name: max(xs) - min(xs) for name, xs in values.items()},
    }
