"""One fine-tuning with several seeds, since small tasks vary from seed to seed."""

import copy
import pathlib
import statistics

from albert_keras.cli.finetuning import finetune
from albert_keras.cli.results import flatten, note
from albert_keras.files import write_json
from albert_keras.training import TrainingCollapsedError


def finetune_seeds(arguments):
    """Runs a fine-tuning with several seeds, each in a folder of its own.

    Args:
        arguments: Namespace of `finetune`.

    Returns:
        Dict: of each score the `median` and the `spread`, greatest less smallest, over
        the seeds that did not collapse; and the scores of each, by folder. It stands in
        `seeds.json` too.

    Raises:
        TrainingCollapsedError: If all of them did.
    """
    runs = {}
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        one = copy.copy(arguments)
        one.seed, one.seeds = seed, 1
        one.run = str(pathlib.Path(arguments.run, f"seed-{seed}"))
        note(f"seed {seed}, in {one.run}")
        try:
            runs[one.run] = finetune(one)
        except TrainingCollapsedError as error:
            collapsed = error
            note(error.reason)
            runs[one.run] = {"collapsed": error.reason}
    finished = [result for result in runs.values() if "collapsed" not in result]
    if not finished:
        raise collapsed
    results = {
        "seeds": arguments.seeds,
        "collapsed_seeds": arguments.seeds - len(finished),
        **summarize(finished),
        "runs": runs,
    }
    write_json(pathlib.Path(arguments.run, "seeds.json"), results)
    return results


def summarize(results):
    """Returns median and spread of each number that all results have.

    Args:
        results: List of dicts.

    Returns:
        Dict of dicts: `median` and `spread`, each by name.
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
