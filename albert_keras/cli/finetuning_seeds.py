"""One fine-tuning with several seeds, since small tasks vary from seed to seed."""

import copy
import pathlib
import statistics

from albert_keras.cli.finetuning import finetune
from albert_keras.cli.results import note
from albert_keras.files import write_json


def finetune_seeds(arguments):
    """Runs a fine-tuning with several seeds, each in a folder of its own.

    Args:
        arguments: Namespace of `finetune`.

    Returns:
        Dict: of each score the `median` and the `spread`, greatest less smallest, over
        the seeds; and the scores of each, by folder. It stands in `seeds.json` too.
    """
    runs = {}
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        one = copy.copy(arguments)
        one.seed, one.seeds = seed, 1
        one.run = str(pathlib.Path(arguments.run, f"seed-{seed}"))
        note(f"seed {seed}, in {one.run}")
        runs[one.run] = finetune(one)
    results = {"seeds": arguments.seeds, **summarize(list(runs.values())), "runs": runs}
    write_json(pathlib.Path(arguments.run, "seeds.json"), results)
    return results


def summarize(results):
    """Returns median and spread of each number that all results have.

    Args:
        results: List of dicts.

    Returns:
        Dict of dicts: `median` and `spread`, each by name.
    """
    values = {
        name: [result[name] for result in results]
        for name, value in results[0].items()
        if isinstance(value, (int, float))
    }
    return {
        "median": {name: statistics.median(xs) for name, xs in values.items()},
        "spread": {name: max(xs) - min(xs) for name, xs in values.items()},
    }
