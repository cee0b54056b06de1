r"""Analyze a shape, a trained model, or several runs beside each other.

Of a shape: `parameters` and `flops` count part by part. Of models with their
vocabularies: `similarity` compares the input and the output of each layer, as the paper's
figure 1. `compare` draws the learning curves of several runs.

examples:
  albert-keras analyze parameters --preset albert_xxlarge_v2 --sharing none
  albert-keras analyze similarity albert_nano_en --plot similarity.png
  albert-keras analyze compare runs/shared runs/unshared --plot curves.png
"""

import dataclasses
from typing import Any, NamedTuple

from albert_keras import analysis, runs
from albert_keras.cli import tables
from albert_keras.cli.options import (
    MODEL_GROUP,
    add_option,
    add_options,
    config_from,
    flag_of,
)
from albert_keras.cli.results import print_results
from albert_keras.files import check_replaceable_file, write_json
from albert_keras.options import check_unused, option
from albert_keras.runs.analysis_options import AnalysisOptions
from albert_keras.runs.finetuning_config import BatchOptions
from albert_keras.runs.shapes import ShapeOptions

USAGE = "SUBJECT [MODEL ...] [options]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnalyzeOptions(BatchOptions, AnalysisOptions):
    """Options of the command beside those of rows and shapes."""

    output: str | None = option("JSON file to write (default: none)", None)
    plot: str | None = option(
        "picture to write, .png, .svg or .pdf (default: none)", None
    )
    data: str | None = option(
        "text files (default: the embedded sample)",
        None,
    )


class Subject(NamedTuple):
    """A subject of the command.

    Attributes:
        analyze: Function of the parsed arguments and `AnalyzeOptions` that returns the
            results, a dict.
        tabulate: Function of the results that returns the table for people, a dict.
        takes: Names of the options that have an effect.
        plot: Name of the function in `albert_keras.analysis` that draws the results, or
            None.
        num_models: The least and the greatest number of models.
        needs: Names of the options that must be given.
    """

    analyze: Any
    tabulate: Any
    takes: tuple = ()
    plot: str | None = None
    num_models: tuple = (0, 0)
    needs: tuple = ()


TEXTS = ("data", "num_texts", "sequence_length", "batch_size")
GROUPS = {
    "texts and rows": TEXTS,
    "flops": ("num_predictions",),
    "similarity": ("random_weights", "seed"),
}


def add_arguments(parser):
    parser.add_argument("subject", choices=SUBJECTS, help="what to analyze")
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="runs, or for similarity also presets, checkpoints, names and addresses",
    )
    for name in ("output", "plot"):
        add_option(parser, AnalyzeOptions, name)
    for title, names in GROUPS.items():
        group = parser.add_argument_group(title)
        for name in names:
            add_option(group, AnalyzeOptions, name)
    shape = {"parameters and flops": ("preset",), **MODEL_GROUP}
    add_options(parser, ShapeOptions, (), shape)


def run(arguments):
    subject = SUBJECTS[arguments.subject]
    options = config_from(arguments, AnalyzeOptions)
    _check_use(arguments, subject)
    # Before the analysis, which may take minutes.
    if options.output:
        check_replaceable_file(options.output)
    if options.plot:
        analysis.check_image_path(options.plot)
    results = subject.analyze(arguments, options)
    if options.output:
        write_json(options.output, results)
    if options.plot:
        getattr(analysis, subject.plot)(results, options.plot)
    table = results if arguments.json else subject.tabulate(results)
    print_results(arguments.subject, table, arguments.json)


def _check_use(arguments, subject):
    """Checks the number of models, and that all given options have an effect."""
    least, most = subject.num_models
    if not least <= len(arguments.models) <= most:
        rule = f"{least}" if least == most else f"at least {least}"
        raise ValueError(
            f"`{arguments.subject}` needs {rule} models. "
            f"Received: {len(arguments.models)}."
        )
    use, takes = f"`{arguments.subject}`", {*subject.takes, "output"}
    takes |= {"plot"} if subject.plot else set()
    fields = AnalyzeOptions.__dataclass_fields__
    given = {n: getattr(arguments, n) != field.default for n, field in fields.items()}
    check_unused(given, [name for name in given if name not in takes], use)
    for name in subject.needs:
        if not given[name]:
            raise ValueError(f"{use} needs {flag_of(name)}. Received: none.")
    if "preset" not in takes:
        members = ShapeOptions.__dataclass_fields__["model_options"].metadata["members"]
        check_unused(vars(arguments), members, use)


def _count_parameters(arguments, options):
    shape = config_from(arguments, ShapeOptions).shape()
    counts = analysis.parameter_table(shape)
    return {**counts, "backbone": analysis.count_parameters(shape)}


def _measure_similarity(arguments, options):
    return runs.measure_similarity(
        arguments.models,
        options.data,
        num_texts=options.num_texts,
        sequence_length=options.sequence_length,
        batch_size=options.batch_size,
        random_weights=options.random_weights,
        seed=options.seed,
    )


def _count_operations(arguments, options):
    shape = config_from(arguments, ShapeOptions).shape()
    length = options.sequence_length
    return analysis.operation_table(shape, length, options.num_predictions)


def _compare(arguments, options):
    return analysis.compare_curves(arguments.models)


# Models beyond any use.
MANY = 100
SUBJECTS = {
    "parameters": Subject(_count_parameters, dict, ("preset",), "plot_parameters"),
    "flops": Subject(
        _count_operations,
        dict,
        ("preset", "sequence_length", "num_predictions"),
        "plot_operations",
    ),
    "similarity": Subject(
        _measure_similarity,
        tables.tabulate_similarity,
        (*TEXTS, "random_weights", "seed"),
        "plot_similarity",
        (1, MANY),
    ),
    "compare": Subject(
        _compare, tables.tabulate_comparison, (), "plot_comparison", (1, MANY)
    ),
}
