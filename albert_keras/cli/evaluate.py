"""Measure a model on held-out data.

A `pretrain` run is measured on prepared data; a `finetune` run on rows of its task; a
SavedModel or TFLite file exported from a classifier with its labels, on labelled text.

examples:
  albert-keras evaluate runs/base --data held_out/
  albert-keras evaluate runs/sst2 --data SST-2/dev.tsv --report runs/sst2/dev
  albert-keras evaluate sst2.tflite --data SST-2/dev.tsv --text-column sentence
"""

import pathlib

from albert_keras.cli.finetuned_run import load_finetuned
from albert_keras.cli.finetuning_report import save_report
from albert_keras.cli.options import check_unused
from albert_keras.cli.pretrain import check_data, ngram_losses
from albert_keras.cli.results import print_results
from albert_keras.cli.run_folder import model_folder, positive_int, read_description
from albert_keras.cli.task_arguments import COLUMNS, add_column_arguments
from albert_keras.cli.tokenizer_arguments import load_tokenizer
from albert_keras.converters import load_checkpoint
from albert_keras.export import is_exported, load_exported
from albert_keras.pretraining import PretrainingTask
from albert_keras.tasks import TextClassificationTask, majority_accuracy
from albert_keras.tasks.text_classification import Columns, label_ids


def add_arguments(parser):
    parser.add_argument("model", help="run folder, SavedModel folder or .tflite file")
    parser.add_argument(
        "--data", required=True, help="folder of `prepare-data`, or rows of the task"
    )
    add_column_arguments(parser)
    parser.add_argument("--batch-size", type=positive_int, default=32)
    parser.add_argument(
        "--report",
        help="folder for report.json and the plot of the confusion, of a finetune run",
    )
    # A run's tokenizer knows how it prepares text.
    parser.set_defaults(cased=False, keep_accents=False)


def run(arguments):
    if is_exported(arguments.model):
        results = evaluate_exported(arguments)
    elif "task" in (description := read_description(arguments.model))["arguments"]:
        results = evaluate_finetuned(arguments)
    else:
        results = evaluate_pretrainer(arguments, description)
    print_results("evaluation", results, arguments.json)


def evaluate_exported(arguments):
    check_unused(arguments, ("pair_column", "report"), "an exported model")
    columns = Columns().renamed(arguments.text_column, arguments.label_column)
    rows = TextClassificationTask(columns=columns).read(arguments.data)
    predictor = load_exported(arguments.model)
    outputs = predictor.predict(rows.texts, batch_size=arguments.batch_size)
    if "label" not in outputs:
        raise ValueError(
            "An exported model must name its labels to be evaluated. "
            f"Received: '{arguments.model}', which gives {', '.join(outputs)}."
        )
    labels = outputs["label"].tolist()
    correct = sum(a == b for a, b in zip(labels, rows.labels, strict=True))
    return {
        "accuracy": correct / len(labels),
        "majority_accuracy": majority_accuracy(
            label_ids(rows.labels, sorted(set(rows.labels)))
        ),
        "num_examples": len(labels),
    }


def evaluate_finetuned(arguments):
    task, model = load_finetuned(arguments.model, arguments)
    prepared = task.prepare(task.read(arguments.data))
    predictions = task.predict(model, prepared, arguments.batch_size)
    if arguments.report:
        pathlib.Path(arguments.report).mkdir(parents=True, exist_ok=True)
        save_report(arguments.report, task, prepared, predictions)
    return task.score(prepared, predictions)


def evaluate_pretrainer(arguments, description):
    check_unused(arguments, (*COLUMNS, "report"), "a run of `pretrain`")
    model = load_checkpoint(model_folder(arguments.model))
    config = model.backbone.albert_config
    tokenizer = load_tokenizer(arguments.model, arguments)
    check_data(arguments.data, tokenizer, config)
    task = PretrainingTask(sentence_pairs=model.num_pair_classes > 0)
    results = task.evaluate(model, arguments.data, arguments.batch_size)
    # The frequencies are those of the training data, which may have been deleted.
    train_data = description["data"]
    if pathlib.Path(train_data).exists():
        results.update(ngram_losses(train_data, arguments.data, tokenizer))
    return results
