r"""Analyze a shape, a trained model, or several runs beside each other.

Of a shape: `parameters` and `flops` count part by part. Of models with their
vocabularies: `similarity` compares the input and the output of each layer, as the paper's
figure 1. `compare` draws the learning curves of several runs. `pareto` measures the score and the
processor time of a row, from raw text, of a run of a classifier or a regression of texts:
of the model, of its cuts at fixed depths and its exit rule if it has exits, of its
SavedModel and TFLite files, and of further runs, such as students. `sensitivity` measures
what a run of `finetune` loses when it is cut at a depth, quantized for TFLite, or loses
attention heads: each alone, and more and more of them.

examples:
  albert-keras analyze parameters --preset albert_xxlarge_v2 --sharing none
  albert-keras analyze similarity albert_nano_en --plot similarity.png
  albert-keras analyze compare runs/shared runs/unshared --plot curves.png
  albert-keras analyze pareto runs/sst2 runs/student --data SST-2/dev.tsv \
      --output pareto.json --plot pareto.png
  albert-keras analyze sensitivity runs/sst2 --data SST-2/dev.tsv --plot cost.png
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
from albert_keras.runs.finetuning_config import ROW_FIELDS, BatchOptions, RowOptions
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
        "rows with labels, for pareto and sensitivity; text files for similarity "
        "(default: the embedded sample)",
        None,
    )
    quantize: bool = option("measure TFLite files of the run too", True)
    num_rounds: int = option(
        "rounds of which the median time is taken", 5, minimum=1, maximum=1000
    )
    num_timed_rows: int = option(
        "rows that are timed, the first ones; all are scored",
        128,
        minimum=1,
        maximum=10**6,
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
    "pareto": ("num_rounds", "num_timed_rows"),
    "sensitivity": ("quantize",),
}


def add_arguments(parser):
    parser.add_argument("subject", choices=SUBJECTS, help="what to analyze")
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="runs, or also presets, checkpoints, names and addresses; for pareto runs "
        "of one task",
    )
    for name in ("output", "plot"):
        add_option(parser, AnalyzeOptions, name)
    for title, names in GROUPS.items():
        group = parser.add_argument_group(title)
        for name in names:
            add_option(group, AnalyzeOptions, name)
    add_options(parser, RowOptions, (), {"files of rows": ROW_FIELDS})
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
    fields = {**AnalyzeOptions.__dataclass_fields__, **RowOptions.__dataclass_fields__}
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


def _measure_pareto(arguments, options):
    return runs.measure_pareto(
        arguments.models,
        options.data,
        batch_size=options.batch_size,
        num_rounds=options.num_rounds,
        num_timed_rows=options.num_timed_rows,
        reading=config_from(arguments, RowOptions),
    )


def _measure_sensitivity(arguments, options):
    return runs.measure_sensitivity(
        *arguments.models,
        options.data,
        batch_size=options.batch_size,
        reading=config_from(arguments, RowOptions),
        quantize=options.quantize,
    )


# Models beyond any use.
MANY = 100
ROWS = ("data", "batch_size", *ROW_FIELDS)
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
    "pareto": Subject(
        _measure_pareto,
        tables.tabulate_pareto,
        (*ROWS, "num_rounds", "num_timed_rows"),
        "plot_pareto",
        (1, MANY),
        ("data",),
    ),
    "sensitivity": Subject(
        _measure_sensitivity,
        tables.tabulate_sensitivity,
        (*ROWS, "quantize"),
        "plot_sensitivity",
        (1, 1),
        ("data",),
    ),
}
