"""Predict with a run, a checkpoint or an exported model: SavedModel, TFLite or ONNX.

A classifier labels texts; a question answerer takes a question and a text; a tagger finds
the entities of sentences; a pretrained model fills each [MASK]. Without texts, or with
`-`, the lines of standard input are the texts. `--data` reads a file of the task's rows;
for question answering also a table with the columns `question` and `context`. `--output`
writes the predictions as `.csv`, `.tsv` or `.jsonl`, after all columns of the table with
the rows, or in the format of the task's benchmark. With `--labels` an entailment
classifier, such as one for MNLI, predicts labels that it was not trained on.

A SavedModel is a program that can read and write files: use only ones that you trust.

examples:
  albert-keras predict runs/sst2 "a charming journey" "bleak and desperate"
  albert-keras predict runs/sst2 --output predictions.csv < reviews.txt
  albert-keras predict sst2.tflite --input reviews.txt --json
  albert-keras predict squad_onnx "Who wrote it?" "The letter was written by Ann."
  albert-keras predict runs/rte --data RTE/test.tsv --output RTE.tsv
  albert-keras predict runs/squad "Who wrote it?" "The letter was written by Ann."
  albert-keras predict runs/mnli "The ball is in." --labels sport politics
  albert-keras predict albert_nano_en "She opened the [MASK] and went out."
"""

import os
import sys

import numpy as np

from albert_keras import runs
from albert_keras.cli.options import InferenceOptions, add_options, inference_options
from albert_keras.cli.results import print_results
from albert_keras.options import check_unused, given_of
from albert_keras.presets.hub import check_known
from albert_keras.runs.finetuning_config import COLUMNS, TABLES
from albert_keras.runs.reporting import note
from albert_keras.tasks.zero_shot import TEMPLATE
from albert_keras.text.text_files import STANDARD_INPUT, read_lines

USAGE = "MODEL [TEXT ...] [options]"

_ENTITY = "{text} {type}[{start}:{end}] {score:.2f}"


def add_arguments(parser):
    parser.add_argument(
        "model",
        help="run, SavedModel or ONNX folder, .tflite file, or the folder, name or "
        "address of a checkpoint",
    )
    parser.add_argument(
        "texts",
        nargs="*",
        help="texts to predict (default: the lines of standard input)",
    )
    parser.add_argument("--input", help="file with one text per line (default: none)")
    parser.add_argument(
        "--data", help="file of rows of the task, without labels (default: none)"
    )
    parser.add_argument(
        "--output",
        help="file for the predictions; for questions, a .json file has the answers, and "
        "a path without a suffix is a folder that has null scores and candidates too "
        "(default: standard output)",
    )
    new_labels = parser.add_argument_group("labels without training")
    new_labels.add_argument(
        "--labels",
        nargs="+",
        help="labels for an entailment classifier (default: the model's own)",
    )
    about = f"sentence with {{}} for a label (default: {TEMPLATE})"
    new_labels.add_argument("--template", default=TEMPLATE, help=about)
    new_labels.add_argument(
        "--multi-label", action="store_true", help="a text may have several labels"
    )
    add_options(parser, InferenceOptions)


def run(arguments):
    if not arguments.data:
        check_unused(vars(arguments), COLUMNS, "texts")
    else:
        check_unused(vars(arguments), ["texts", "input"], f"--data {arguments.data}")
    # Before the run, which imports Keras.
    check_known(arguments.model)
    options = inference_options(arguments)
    decoding = options["reading"].decoding
    texts = None if arguments.data else given_texts(arguments, decoding)
    new_labels = given_of(arguments, ("labels", "template", "multi_label"))
    predictions = runs.predict_with_run(
        arguments.model,
        texts,
        data=arguments.data,
        output=arguments.output,
        zero_shot=new_labels if arguments.labels else None,
        **options,
    )
    if arguments.output:
        note(f"{len(predictions)} predictions written to {arguments.output}")
    if arguments.json:
        print_results("", {"predictions": predictions}, as_json=True)
    elif not arguments.output:
        for row in predictions:
            print(as_line(row))


def given_texts(arguments, decoding):
    """Returns the texts of the command line, and of `--input` or standard input."""
    texts, file = arguments.texts, arguments.input
    # `Path.is_file` raises an error for a text that is too long for a name.
    if len(texts) == 1 and os.path.isfile(texts[0]):
        note(f"{texts[0]} is taken as a text; --input or --data reads the file")
    if file and file.endswith(TABLES):
        raise ValueError(
            "A file of texts has one text per line, and no columns. Received: --input "
            f"{file}. Give a table by --data."
        )
    if texts == ["-"] or not (texts or file or sys.stdin.isatty()):
        texts, file = [], STANDARD_INPUT
    if file:
        # Also blank lines, because the output has a row for each line.
        texts = [*texts, *(line.strip() for line in read_lines(file, decoding))]
    if not texts:
        raise ValueError(
            "There must be a text to predict. Received: none. Give texts after the "
            "model or on standard input, or a file by `--input` or `--data`."
        )
    return texts


def as_line(row):
    """Returns a prediction as a line: label, answer or entities, a score, and texts.

    The score is that of a regression, the null score (the higher, the less likely is an
    answer), the greatest probability or the greatest logit.
    """
    cells = [row[name] for name in ("label", "answer") if name in row]
    if "entities" in row:
        cells = [", ".join(map(_ENTITY.format_map, row["entities"]))]
    for name in ("score", "null_score", "probabilities", "logits"):
        if name in row:
            scores = row[name]
            is_by_label = isinstance(scores, dict)
            greatest = np.max([*scores.values()] if is_by_label else scores)
            cells.append(f"{greatest:.4f}")
            break
    cells += [row[name] for name in ("text", "text_pair") if name in row]
    # A text may have line breaks and tabs.
    return "\t".join(" ".join(cell.split()) for cell in cells)
