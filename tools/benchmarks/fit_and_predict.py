#!/usr/bin/env python3
r"""Compares `fit` and `predict` on lists of text with the commands' own route.

Both train and predict with models of the same size on the same rows, in turn, so that a
busy machine slows both. A step of training is measured in processor seconds, from texts
on, tokenization included; a request for one text in milliseconds of the wall. At first
each route sees texts of many lengths, of which the slowest after the first is printed.

example:
  tools/benchmarks/fit_and_predict.py --preset albert_mini_en --train reviews.tsv \
      --epochs 1
"""

import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras import sample
from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks import Recipe, TextClassificationTask
from albert_keras.tokenizers import load_tokenizer
from tools.benchmarks.interleaving import (
    measure_in_turn,
    medians,
    processor_seconds,
)


def main(argv=None):
    """Prints the medians."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", default="albert_nano_en")
    parser.add_argument("--train", default=str(sample.REVIEWS_TRAIN))
    parser.add_argument("--epochs", type=int, default=4, help="epochs of a round")
    parser.add_argument("--sequence-length", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    print(json.dumps(measure(parser.parse_args(argv)), indent=2))


def measure(arguments):
    """Returns the medians over the rounds, a dict of dicts by route."""
    task = TextClassificationTask(
        recipe=Recipe(sequence_length=arguments.sequence_length)
    )
    rows = task.read(arguments.train)
    task = task.for_run(rows, load_tokenizer(arguments.preset))
    texts, labels = [*rows.texts], [*rows.labels]
    classifier = AlbertTextClassifier.from_preset(
        arguments.preset, num_classes=len(task.labels), labels=task.labels
    )
    classifier.preprocessor.sequence_length = arguments.sequence_length
    model = task.build_model(AlbertBackbone.from_preset(arguments.preset))
    model.compile()
    run = LoadedModel(task, model)
    steps_of_an_epoch = -(-len(texts) // arguments.batch_size)
    num_steps = arguments.epochs * steps_of_an_epoch

    def finetune():
        batches = task.make_dataset(
            task.prepare(rows, training=True), arguments.batch_size
        )
        model.fit(batches, steps_per_epoch=num_steps, shuffle=False, verbose=0)

    def fit():
        options = {"batch_size": arguments.batch_size, "epochs": arguments.epochs}
        classifier.fit(texts, labels, **options, verbose=0)

    training = {"fit": fit, "finetune": finetune}
    prediction = {"predict": classifier.predict, "load_run": run.predict}
    words = " ".join(texts).split()
    new = {
        name: max([_milliseconds(predict, words[:n]) for n in range(1, 41)][1:])
        for name, predict in prediction.items()
    }
    steps = {
        name: lambda train=train: processor_seconds(train) / num_steps
        for name, train in training.items()
    }
    requests = {
        name: lambda predict=predict: _milliseconds(predict, words[:12])
        for name, predict in prediction.items()
    }
    # The first round compiles.
    _, *rounds = measure_in_turn(steps | requests, 1 + arguments.rounds)
    results = medians(rounds)
    return {
        "processor_seconds_of_a_step": {name: results[name] for name in steps},
        "milliseconds_of_a_request": {name: results[name] for name in requests},
        "milliseconds_of_the_slowest_new_length": new,
    }


def _milliseconds(predict, words):
    start = time.perf_counter()
    predict([" ".join(words)])
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
