"""Turn text into files for pretraining: finished examples, or token ids to make them of.

Text files hold a sentence a line and a blank line between documents; JSONL files a
document a line, in `text`; Parquet files and TFDS data sets (`tfds:name`) a document a
row. Folders and globs stand for their files; `.gz` is read as it is.

Interrupted, it leaves what is finished in the output folder; the same command goes on.

examples:
  albert-keras prepare-data corpus/ --tokenizer 30k.model --output records/
  albert-keras prepare-data corpus/ --tokenizer 30k.model --output tokens/ --dynamic
"""

import dataclasses
import os
import pathlib

from albert_keras.analysis import check_image_path, plot_data_report
from albert_keras.cli.corpus_arguments import add_corpus_arguments, corpus_of
from albert_keras.cli.options import flag_of
from albert_keras.cli.progress import show_progress
from albert_keras.cli.results import print_results
from albert_keras.cli.tokenizer_arguments import (
    add_tokenizer_arguments,
    load_tokenizer,
)
from albert_keras.pretraining import (
    CHOICES,
    RUNNERS,
    PretrainingDataConfig,
    prepare_pretraining_data,
)

DATA_DEFAULTS = {
    field.name: field.default
    for field in dataclasses.fields(PretrainingDataConfig)
    if field.name != "seed"
}

# What the stages of a preparation count.
UNITS = {
    "tokenize": "bytes",
    "shuffle": "files",
    "examples": "tokens",
    "write": "files",
}


def add_arguments(parser):
    parser.add_argument(
        "texts", nargs="+", help="files, folders, globs or tfds:name[/config][:split]"
    )
    add_tokenizer_arguments(parser, required=True)
    parser.add_argument("--output", required=True, help="folder for the files")
    parser.add_argument(
        "--dynamic",
        action="store_true",
        help="store token ids; pairs and masks are drawn anew in each epoch",
    )
    parser.add_argument(
        "--plot", metavar="FILE", help="draw the report (.png, .svg; extra `plots`)"
    )
    parser.add_argument("--seed", type=int, default=PretrainingDataConfig.seed)
    add_corpus_arguments(parser)
    add_data_arguments(parser)
    add_worker_arguments(parser)


def add_data_arguments(parser):
    """Adds the fields of `PretrainingDataConfig` but the seed."""
    group = parser.add_argument_group("examples")
    for name, default in DATA_DEFAULTS.items():
        flag, about = flag_of(name), f"default: {default}"
        if name in CHOICES:
            choices = [choice for choice in CHOICES[name] if choice is not None]
            group.add_argument(flag, choices=choices, help=about)
        elif default is True:
            group.add_argument(flag, dest=name, action="store_false", default=None)
        elif default is False:
            group.add_argument(flag, action="store_true", default=None)
        else:
            kind = int if default is None else type(default)
            group.add_argument(flag, type=kind, help=about)


def available_cores():
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def add_worker_arguments(parser):
    """Adds who does the work."""
    group = parser.add_argument_group("workers")
    group.add_argument(
        "--workers",
        type=int,
        default=available_cores(),
        help="processes on this machine (default: one a core)",
    )
    group.add_argument(
        "--runner",
        choices=RUNNERS,
        help="an Apache Beam runner instead (extra `beam`); its workers must see text "
        "and output under the same paths",
    )
    group.add_argument(
        "--runner-option",
        action="append",
        default=[],
        metavar="=--NAME=VALUE",
        help="an option of the runner, such as =--direct_num_workers=2; repeatable",
    )


def given_data_options(arguments):
    """Returns the fields of `PretrainingDataConfig`, but the seed, that were given."""
    given = {name: getattr(arguments, name) for name in DATA_DEFAULTS}
    return {name: value for name, value in given.items() if value is not None}


def data_config(arguments):
    """Returns the `PretrainingDataConfig` that the arguments describe."""
    return PretrainingDataConfig(**given_data_options(arguments), seed=arguments.seed)


def prepare(texts, tokenizer, output, arguments, dynamic):
    """Prepares data as `arguments` say, with progress on standard error.

    Returns:
        `PretrainingDataReport`.
    """
    with show_progress(UNITS) as progress:
        return prepare_pretraining_data(
            corpus_of(texts, arguments),
            tokenizer,
            output,
            data_config(arguments),
            dynamic=dynamic,
            num_workers=arguments.workers,
            runner=arguments.runner,
            runner_options=arguments.runner_option,
            progress=progress,
        )


def run(arguments):
    if arguments.plot:
        check_image_path(arguments.plot)
    tokenizer = load_tokenizer(arguments.tokenizer, arguments)
    report = prepare(
        arguments.texts, tokenizer, arguments.output, arguments, arguments.dynamic
    )
    if arguments.plot:
        plot_data_report(report.to_dict(), pathlib.Path(arguments.plot))
    results = {"output": arguments.output, **report.to_dict()}
    print_results("pretraining data", results, arguments.json)
