"""Predict with a `finetune` run, a SavedModel or a TFLite file.

A classifier labels texts; a question answerer takes a question and a text; a tagger a
sentence of words with spaces in between. `--data` takes a file of the task's rows
instead, and `--output` writes what comes out: `.jsonl` a row a line, and of tasks that
have one, the format in which their server or script wants predictions.

examples:
  albert-keras predict runs/sst2 "a charming journey" "bleak and desperate"
  albert-keras predict sst2.tflite --input reviews.txt --json
  albert-keras predict runs/rte --data RTE/test.tsv --output RTE.tsv
  albert-keras predict runs/squad "Who wrote it?" "The letter was written by Ann."
"""

import json
import pathlib

from albert_keras.cli.finetuned_run import load_finetuned
from albert_keras.cli.options import check_unused
from albert_keras.cli.results import print_results
from albert_keras.cli.run_folder import positive_int
from albert_keras.cli.task_arguments import COLUMNS, add_column_arguments
from albert_keras.export import is_exported, load_exported
from albert_keras.files import atomic_path
from albert_keras.text import read_lines


def add_arguments(parser):
    parser.add_argument("model", help="run folder, SavedModel folder or .tflite file")
    parser.add_argument("texts", nargs="*", help="texts to predict of")
    parser.add_argument("--input", help="file with a text a line")
    parser.add_argument("--data", help="file of rows of the run's task, without labels")
    add_column_arguments(parser)
    parser.add_argument(
        "--output",
        help="file to write the predictions to; of question answering .json has the "
        "texts, and another path is a folder with null scores and candidates too",
    )
    parser.add_argument("--batch-size", type=positive_int, default=32)


def run(arguments):
    path = pathlib.Path(arguments.model)
    if not path.exists():
        raise FileNotFoundError(
            "The model must be a run folder, a SavedModel folder or a .tflite file. "
            f"Received: '{path}', where there is nothing."
        )
    predict = predict_exported if is_exported(path) else predict_with_run
    predictions = predict(arguments)
    if arguments.json:
        print_results("", {"predictions": predictions}, as_json=True)
    elif not arguments.output:
        for row in predictions:
            print(as_line(row))


def predict_exported(arguments):
    if arguments.data:
        raise ValueError(
            "An exported model takes texts. "
            f"Received: --data {arguments.data} for '{arguments.model}'. Give texts, or "
            "the run that it was exported from."
        )
    check_unused(arguments, COLUMNS, "an exported model")
    texts = given_texts(arguments)
    if arguments.output:
        check_is_json_lines(arguments.output)
    predictor = load_exported(arguments.model)
    outputs = predictor.predict(texts, batch_size=arguments.batch_size)
    if "logits" not in outputs:
        raise ValueError(
            "The model must be a classifier, which gives logits. "
            f"Received: '{arguments.model}', which gives {', '.join(outputs)}."
        )
    predictions = [
        {
            "text": text,
            **{name: values[row].tolist() for name, values in outputs.items()},
        }
        for row, text in enumerate(texts)
    ]
    if arguments.output:
        write_json_lines(arguments.output, predictions)
    return predictions


def predict_with_run(arguments):
    if not arguments.data:
        check_unused(arguments, COLUMNS, "texts")
    elif arguments.texts or arguments.input:
        raise ValueError(
            "Rows are those of a file, or texts. Received: --data "
            f"{arguments.data} and texts too. Leave one out."
        )
    task, model = load_finetuned(arguments.model, arguments)
    if arguments.data:
        rows = task.read(arguments.data, needs_labels=False)
    else:
        rows = task.rows_of(given_texts(arguments))
    prepared = task.prepare(rows)
    predictions = task.predict(model, prepared, arguments.batch_size)
    described = task.describe(prepared, predictions)
    if arguments.output and pathlib.Path(arguments.output).suffix == ".jsonl":
        write_json_lines(arguments.output, described)
    elif arguments.output:
        task.write_submission(arguments.output, prepared, predictions)
    return described


def given_texts(arguments):
    """Returns the texts of the command line and of `--input`."""
    texts = list(arguments.texts)
    if arguments.input:
        # Blank lines too: the output has a row for each line.
        texts += [line.strip() for line in read_lines(arguments.input)]
    if not texts:
        raise ValueError(
            "There must be a text to predict of. Received: none. "
            "Give texts after the model, or a file by `--input` or `--data`."
        )
    return texts


def check_is_json_lines(path):
    """Checks the suffix of a file of which no benchmark knows the format.

    Raises:
        ValueError: If it is not `.jsonl`.
    """
    if pathlib.Path(path).suffix != ".jsonl":
        raise ValueError(
            "Predictions of an exported model are JSON lines, in a file that ends in "
            f".jsonl. Received: '{path}'. A run of `finetune` writes other formats."
        )


def write_json_lines(path, rows):
    """Writes a dict a line."""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def as_line(row):
    """Returns a line: what was predicted; its chance, or score, or the null score of a
    question, which says how much there is no answer; and the text.
    """
    cells = [row[name] for name in ("label", "answer") if name in row]
    if "null_score" in row:
        cells.append(f"{row['null_score']:.4f}")
    elif "probabilities" in row:
        cells.append(f"{max(row['probabilities']):.4f}")
    elif "logits" in row:
        cells.append(f"{max(row['logits']):.4f}")
    if "text_pair" in row:
        return "\t".join([*cells, row["text"], row["text_pair"]])
    return "\t".join([*cells, row["text"]])
