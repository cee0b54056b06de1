"""Predict with a `finetune` run, a SavedModel or a TFLite file.

A classifier labels texts; a question answerer takes a question and a text; a tagger a
sentence of words separated by spaces. `--data` takes a file of the task's rows instead.
`--output` writes the predictions: `.jsonl` a row a line, and for tasks that have one,
the format of their server or script.

examples:
  albert-keras predict runs/sst2 "a charming journey" "bleak and desperate"
  albert-keras predict sst2.tflite --input reviews.txt --json
  albert-keras predict runs/rte --data RTE/test.tsv --output RTE.tsv
  albert-keras predict runs/squad "Who wrote it?" "The letter was written by Ann."
"""

import pathlib

import numpy as np

from albert_keras import export, runs
from albert_keras.cli.options import add_batch_size, add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.options import check_unused
from albert_keras.runs.finetuning_config import BATCH_SIZE, COLUMNS, ColumnOptions
from albert_keras.text import read_lines


def add_arguments(parser):
    parser.add_argument("model", help="run folder, SavedModel folder or .tflite file")
    parser.add_argument("texts", nargs="*", help="texts to predict")
    parser.add_argument("--input", help="file with one text per line")
    parser.add_argument("--data", help="file of rows of the run's task, without labels")
    parser.add_argument(
        "--output",
        help="file to write the predictions to; of question answering .json has the "
        "texts, and another path is a folder with null scores and candidates too",
    )
    add_batch_size(parser, BATCH_SIZE)
    add_options(parser, ColumnOptions, (), {"columns of a table": COLUMNS})


def run(arguments):
    path = pathlib.Path(arguments.model)
    if not path.exists():
        raise FileNotFoundError(
            "The model must be a run folder, a SavedModel folder or a .tflite file. "
            f"Received: '{path}', which does not exist."
        )
    if export.is_exported(path):
        check_unused(vars(arguments), ("data", *COLUMNS), "an exported model")
    elif not arguments.data:
        check_unused(vars(arguments), COLUMNS, "texts")
    elif arguments.texts or arguments.input:
        raise ValueError(
            "Predict rows of a file, or texts. Received: --data "
            f"{arguments.data} and texts too. Remove one."
        )
    predictions = runs.predict_with_run(
        path,
        None if arguments.data else given_texts(arguments),
        data=arguments.data,
        batch_size=arguments.batch_size,
        columns=config_from(arguments, ColumnOptions),
        output=arguments.output,
    )
    if arguments.json:
        print_results("", {"predictions": predictions}, as_json=True)
    elif not arguments.output:
        for row in predictions:
            print(as_line(row))


def given_texts(arguments):
    """Returns the texts of the command line and of `--input`."""
    texts = list(arguments.texts)
    if arguments.input:
        # Blank lines too: the output has a row for each line.
        texts += [line.strip() for line in read_lines(arguments.input)]
    if not texts:
        raise ValueError(
            "There must be a text to predict. Received: none. "
            "Give texts after the model, or a file by `--input` or `--data`."
        )
    return texts


def as_line(row):
    """Returns the cells of a prediction: label or answer, score, and texts.

    The score is the null score (how likely a question has no answer), the greatest
    probability or the greatest logit.
    """
    cells = [row[name] for name in ("label", "answer") if name in row]
    for name in ("null_score", "probabilities", "logits"):
        if name in row:
            cells.append(f"{np.max(row[name]):.4f}")
            break
    return "\t".join([*cells, *(row[n] for n in ("text", "text_pair") if n in row)])
