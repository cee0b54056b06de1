"""Turn text into sharded TFRecord files with Google's feature names.

Plain text holds a sentence a line and a blank line between documents; JSONL holds a
document a line, in `text`.

example:
  albert-keras prepare-data corpus/ --tokenizer 30k.model --output records/
"""

import dataclasses

import rich.console
import rich.progress

from albert_keras.cli.results import print_results
from albert_keras.cli.tokenizer_arguments import (
    add_tokenizer_arguments,
    load_tokenizer,
)
from albert_keras.data import (
    MASKING,
    ONE_SENTENCE_CHUNKS,
    SENTENCE_PAIRS,
    PretrainingDataConfig,
    prepare_pretraining_data,
    read_documents,
)

DATA_DEFAULTS = {
    field.name: field.default
    for field in dataclasses.fields(PretrainingDataConfig)
    if field.name != "seed"
}


def add_arguments(parser):
    parser.add_argument(
        "texts", nargs="+", help="text or JSONL files, folders or globs"
    )
    add_tokenizer_arguments(parser, required=True)
    parser.add_argument("--output", required=True, help="new folder for the records")
    add_data_arguments(parser)
    parser.add_argument("--seed", type=int, default=PretrainingDataConfig.seed)


def add_data_arguments(parser):
    """Adds the fields of `PretrainingDataConfig` but the seed."""
    group = parser.add_argument_group("examples")
    choices = {
        "sentence_pairs": list(SENTENCE_PAIRS),
        "one_sentence_chunks": list(ONE_SENTENCE_CHUNKS),
        "masking": list(MASKING),
        "random_replacements": ["ordinary", "vocabulary"],
    }
    for name, default in DATA_DEFAULTS.items():
        flag, about = flag_of(name), f"default: {default}"
        if name in choices:
            group.add_argument(flag, choices=choices[name], help=about)
        elif name == "favor_shorter":
            group.add_argument(
                "--favor-longer", dest=name, action="store_false", default=None
            )
        else:
            kind = int if default is None else type(default)
            group.add_argument(flag, type=kind, help=about)


def flag_of(name):
    """Returns the option of a field."""
    return f"--{name.replace('_', '-')}"


def given_data_arguments(arguments):
    """Returns the options of the preparation that were given, by flag."""
    names = [name for name in DATA_DEFAULTS if getattr(arguments, name) is not None]
    return [flag_of(name) for name in names]


def data_config(arguments):
    """Returns the `PretrainingDataConfig` that the arguments describe."""
    given = {name: getattr(arguments, name) for name in DATA_DEFAULTS}
    given = {name: value for name, value in given.items() if value is not None}
    return PretrainingDataConfig(**given, seed=arguments.seed)


def prepare(texts, tokenizer, output, arguments):
    """Prepares records as `arguments` say, with a progress line on standard error.

    Returns:
        `PretrainingDataReport`.
    """
    config = data_config(arguments)
    columns = (
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeElapsedColumn(),
    )
    console = rich.console.Console(stderr=True)
    with rich.progress.Progress(*columns, console=console) as progress:
        tasks = {
            stage: progress.add_task(stage, total=None)
            for stage in ("documents", "shards")
        }
        return prepare_pretraining_data(
            read_documents(texts),
            tokenizer,
            output,
            config,
            progress=lambda stage, done, total: progress.update(
                tasks[stage], completed=done, total=total
            ),
        )


def run(arguments):
    tokenizer = load_tokenizer(arguments.tokenizer, arguments)
    report = prepare(arguments.texts, tokenizer, arguments.output, arguments)
    results = {"output": arguments.output, **report.to_dict()}
    print_results("pretraining data", results, arguments.json)
