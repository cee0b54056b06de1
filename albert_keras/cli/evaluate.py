"""Measure a run: a `pretrain` run on records, a `finetune` run on labelled text.

examples:
  albert-keras evaluate runs/base --data held_out/
  albert-keras evaluate runs/sst2 --data SST-2/dev.tsv --text-column sentence
"""

import pathlib

from albert_keras.cli.results import print_results
from albert_keras.cli.run_folder import (
    load_classifier,
    model_folder,
    read_description,
)
from albert_keras.converters import load_checkpoint
from albert_keras.tasks import TASKS, PretrainingTask, unigram_loss


def add_arguments(parser):
    parser.add_argument("run_folder", help="folder of a `pretrain` or `finetune` run")
    parser.add_argument("--data", required=True, help="records, or labelled rows")
    parser.add_argument("--text-column")
    parser.add_argument("--label-column")
    parser.add_argument("--batch-size", type=int, default=32)


def run(arguments):
    description = read_description(arguments.run_folder)
    if "labels" in description:
        results = evaluate_classifier(arguments, description)
    else:
        results = evaluate_pretrainer(arguments, description)
    print_results("evaluation", results, arguments.json)


def evaluate_pretrainer(arguments, description):
    model = load_checkpoint(model_folder(arguments.run_folder))
    task = PretrainingTask(sentence_pairs=model.num_pair_classes > 0)
    results = task.evaluate(model, arguments.data, arguments.batch_size)
    # The frequencies are those of the training records, which may have been deleted.
    if pathlib.Path(description["records"]).exists():
        results["unigram_loss"] = unigram_loss(
            description["records"],
            arguments.data,
            model.backbone.albert_config.vocabulary_size,
        )
    return results


def evaluate_classifier(arguments, description):
    model, labels = load_classifier(arguments.run_folder)
    trained = description["arguments"]
    task = TASKS[trained["task"]].with_columns(
        arguments.text_column or trained["text_column"],
        arguments.label_column or trained["label_column"],
    )
    rows = task.read(arguments.data)
    task = task.for_run(rows, model.preprocessor, labels)
    # The dataset is preprocessed already.
    model.preprocessor = None
    return task.evaluate(model, rows, arguments.batch_size)
