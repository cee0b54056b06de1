#!/usr/bin/env python3
"""Compares `fit` and `predict` on lists of text with the route of the commands.

A step of training is measured from texts on, tokenization included. A request is one
text of a length that was met before, or of the slowest of 39 new lengths.

example:
  tools/benchmarks/fit_and_predict.py --preset albert_nano_en --processor-time
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.sample import REVIEWS_TRAIN
from tools.benchmarks import harness
from tools.benchmarks.harness import Contender, seconds_of

BATCH_SIZE, EPOCHS = 32, 4


def main(argv=None):
    """Measures, and prints the results."""
    parser = harness.make_parser(__doc__, CONTENDERS)
    parser.add_argument("--preset", default="albert_nano_en")
    parser.add_argument("--train", default=str(REVIEWS_TRAIN), help="labeled texts")
    arguments = parser.parse_args(argv)
    harness.compare(__file__, CONTENDERS, arguments, {})


def by_python(work):
    """Fits and predicts lists of text by a classifier."""
    task, rows, model = prepare(work)
    model.preprocessor = model.preprocessor_cls(task.tokenizer, sequence_length=128)
    texts, labels = [*rows.texts], [*rows.labels]
    options = {"batch_size": BATCH_SIZE, "epochs": EPOCHS, "verbose": 0}
    return measured(
        work, texts, lambda: model.fit(texts, labels, **options), model.predict
    )


def by_command(work):
    """Fits and predicts as `finetune` and `predict` do."""
    from albert_keras.runs.inference import LoadedModel

    task, rows, model = prepare(work)
    num_steps = EPOCHS * -(-len(rows.texts) // BATCH_SIZE)

    def fit():
        batches = task.make_dataset(task.prepare(rows, training=True), BATCH_SIZE)
        model.fit(batches, steps_per_epoch=num_steps, shuffle=False, verbose=0)

    return measured(work, rows.texts, fit, LoadedModel(task, model).predict)


def prepare(work):
    """Returns the task, its rows, and a compiled classifier of the preset."""
    from albert_keras.models import AlbertBackbone
    from albert_keras.tasks import TextClassificationTask
    from albert_keras.tokenizers import load_tokenizer

    task = TextClassificationTask()
    rows = task.read(work["train"])
    task = task.for_run(rows, load_tokenizer(work["preset"]))
    model = task.build_model(AlbertBackbone.from_preset(work["preset"]))
    model.compile()
    return task, rows, model


def measured(work, texts, fit, predict):
    """Returns a function that measures a step and a request, after new lengths."""
    words = " ".join(texts).split()
    fit()
    new = [
        seconds_of(lambda n=n: predict([" ".join(words[:n])]), work)
        for n in range(1, 41)
    ]
    num_steps = EPOCHS * -(-len(texts) // BATCH_SIZE)

    def measure():
        return {
            "a step": seconds_of(fit, work) / num_steps,
            "a request": seconds_of(lambda: predict([" ".join(words[:12])]), work),
            # The first one traces the graph.
            "slowest request of a new length": max(new[1:]),
        }

    return measure


CONTENDERS = {"command": Contender(by_command), "python": Contender(by_python)}


if __name__ == "__main__":
    main()
