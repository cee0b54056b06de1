r"""Compares the training time of batches by length with that of padded batches.

Both train the same model on the same rows, alternating in every round. The ratio is one
of seconds per row, and so of seconds per epoch. The default data are the embedded
reviews.

example:
  python tools/benchmarks/buckets.py --task sst-2 --train SST-2/train.tsv \
      --sequence-length 128
"""

import argparse
import dataclasses
import itertools
import json
import statistics
import time

import keras

from albert_keras import sample
from albert_keras.config import PRESETS, AlbertConfig
from albert_keras.models import AlbertBackbone
from albert_keras.optimizers import AdamW
from albert_keras.tasks import TASKS
from albert_keras.tokenizers import load_tokenizer


def main():
    """Prints the ratio of each round, and the median."""
    arguments = parse()
    task, prepared = prepare(arguments)
    model = make_model(arguments, task)
    step = model.make_train_function()
    names = ("by_length", "padded")
    iterators = {
        name: iter(make_dataset(arguments, task, prepared, name)) for name in names
    }
    seconds = {name: [] for name in names}
    for round_number in range(arguments.rounds + 1):
        for name in names:
            measured = seconds_per_row(step, iterators[name], arguments.rows)
            # The first round compiles.
            if round_number:
                seconds[name].append(measured)
    ratios = [a / b for a, b in zip(*seconds.values(), strict=True)]
    results = {
        "task": arguments.task,
        "sequence_length": arguments.sequence_length,
        "mean_length": float(prepared.examples.lengths.mean()),
        "rows_per_second": {
            name: 1 / statistics.median(values) for name, values in seconds.items()
        },
        "ratios": ratios,
        "ratio": statistics.median(ratios),
    }
    print(json.dumps(results, indent=None if arguments.json else 2))


def parse():
    """Returns the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", default="text-classification", choices=list(TASKS))
    parser.add_argument("--train", default=str(sample.REVIEWS_TRAIN))
    parser.add_argument("--preset", default="albert_tiny_zh", choices=list(PRESETS))
    parser.add_argument("--tokenizer", default="albert_nano_en")
    parser.add_argument("--sequence-length", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--rows",
        type=int,
        default=640,
        help="rows per round and kind of batch",
    )
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def prepare(arguments):
    """Returns the task and its prepared rows."""
    task = TASKS[arguments.task]
    recipe = dataclasses.replace(task.recipe, sequence_length=arguments.sequence_length)
    task = dataclasses.replace(task, recipe=recipe)
    rows = task.read(arguments.train)
    task = task.for_run(rows, load_tokenizer(arguments.tokenizer))
    return task, task.prepare(rows, training=True)


def make_model(arguments, task):
    """Returns the compiled model, with random weights."""
    config = AlbertConfig.from_preset(
        arguments.preset,
        vocabulary_size=task.tokenizer.vocabulary_size(),
        max_sequence_length=max(512, arguments.sequence_length),
    )
    model = task.build_model(AlbertBackbone(**config.to_dict()))
    model.compile(
        optimizer=AdamW(1e-5, global_clipnorm=1.0),
        loss=task.losses(),
        weighted_metrics=task.metrics(),
    )
    return model


def make_dataset(arguments, task, prepared, name):
    """Returns endless batches of one kind."""
    return task.make_dataset(
        prepared, arguments.batch_size, seed=1, by_length=name == "by_length"
    )


def seconds_per_row(step, batches, num_rows):
    """Trains on at least `num_rows` rows and returns the seconds per row."""
    seen = seconds = 0
    for batch in itertools.islice(batches, num_rows):
        start = time.perf_counter()
        step(iter([batch]))
        seconds += time.perf_counter() - start
        seen += len(keras.tree.flatten(batch)[0])
        if seen >= num_rows:
            break
    return seconds / seen


if __name__ == "__main__":
    main()
