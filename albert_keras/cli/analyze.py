r"""Analyze a model size, trained models, or the learning curves of runs.

`parameters` and `flops` count the parts of a model size. `similarity` compares the input
and the output of each layer of trained models, as in the paper's figure 1. `compare`
draws the learning curves of several runs.

examples:
  albert-keras analyze parameters --preset albert_xxlarge_v2 --sharing none
  albert-keras analyze similarity albert_nano_en --plot similarity.png
  albert-keras analyze compare runs/shared runs/unshared --plot curves.png
"""

import dataclasses
from typing import Any, NamedTuple

from albert_keras import analysis
from albert_keras.cli.options import add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.config import MAX_POSITIONS
from albert_keras.options import Range, check_unused, option
from albert_keras.runs.analyses import AnalysisOptions, measure_similarity
from albert_keras.runs.finetuning_config import BatchOptions
from albert_keras.runs.training import ShapeOptions

USAGE = "SUBJECT [MODEL ...] [options]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnalyzeOptions(BatchOptions, AnalysisOptions):
    """Options of the command, without those of a model size."""

    plot: str | None = option("plot to write, .png, .svg or .pdf", None)
    data: str | None = option("text files (default: the embedded sample)", None)
    num_predictions: int | None = option(
        "masked tokens in a row (default: 15 %)", None, Range(1, MAX_POSITIONS)
    )


class Subject(NamedTuple):
    """A subject of the command.

    Attributes:
        analyze: Function of the models, or of the `AlbertConfig`, and of the options in
            `takes`, which returns the results, a dict.
        plot: Name of the function in `albert_keras.analysis` that draws the results.
        takes: Names of the options that have an effect.
        tabulate: Function from the results to a table for people, a dict; None for the
            subjects that analyze an `AlbertConfig`.
    """

    analyze: Any
    plot: str
    takes: tuple = ()
    tabulate: Any = None


def add_arguments(parser):
    parser.add_argument("subject", choices=SUBJECTS, help="what to analyze")
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="runs, or for similarity also presets, checkpoints, names and addresses",
    )
    add_options(parser, AnalyzeOptions)
    add_options(parser, ShapeOptions)


def run(arguments):
    subject = SUBJECTS[arguments.subject]
    of_models = subject.tabulate is not None
    if bool(arguments.models) != of_models:
        rule = "a model or more" if of_models else "no model, but a shape"
        raise ValueError(
            f"`{arguments.subject}` needs {rule}. "
            f"Received: {len(arguments.models)} models."
        )
    _check_use(arguments, subject.takes, of_models)
    options = config_from(arguments, AnalyzeOptions)
    # Before the analysis, which may take minutes.
    if options.plot:
        analysis.check_image_path(options.plot)
    analyzed = arguments.models or config_from(arguments, ShapeOptions).shape()
    taken = {name: getattr(options, name) for name in subject.takes}
    results = subject.analyze(analyzed, **taken)
    if options.plot:
        getattr(analysis, subject.plot)(results, options.plot)
    is_table = of_models and not arguments.json
    table = subject.tabulate(results) if is_table else results
    print_results(arguments.subject, table, arguments.json)


def _check_use(arguments, takes, of_models):
    """Raises a ValueError if an option is given that has no effect on the subject."""
    fields, kept = AnalyzeOptions.__dataclass_fields__, ("plot", *takes)
    defaults = {name: fields[name].default for name in fields if name not in kept}
    if of_models:
        shape = ShapeOptions.__dataclass_fields__
        defaults["preset"] = shape["preset"].default
        defaults |= dict.fromkeys(shape["model_options"].metadata["members"])
    values = {name: getattr(arguments, name) for name in defaults}
    given = {n: str(value) for n, value in values.items() if value != defaults[n]}
    check_unused(given, given, f"`{arguments.subject}`")


def _count_parameters(shape):
    table = analysis.parameter_table(shape)
    return {**table, "backbone": analysis.count_parameters(shape)}


def _tabulate_similarity(results):
    return {
        f"{model['name']}, layer {depth}": f"L2 distance {distance:.4g}, "
        f"angle {angle:.3g} degrees"
        for model in results["models"]
        for depth, (distance, angle) in enumerate(
            zip(model["l2_distance"], model["angle"], strict=True), start=1
        )
    }


def _tabulate_comparison(results):
    """Returns the last value of each curve."""
    return {
        f"{name}, {quantity}": f"{curve['values'][-1]:.4g} at step "
        f"{curve['steps'][-1]:,}"
        for name, series in results["runs"].items()
        for quantity, curve in series.items()
        if quantity.removeprefix("val_") in results["quantities"]
    }


SUBJECTS = {
    "parameters": Subject(_count_parameters, "plot_parameters"),
    "flops": Subject(
        analysis.operation_table,
        "plot_operations",
        ("sequence_length", "num_predictions"),
    ),
    "similarity": Subject(
        measure_similarity,
        "plot_similarity",
        ("data", "batch_size", *AnalysisOptions.__dataclass_fields__),
        _tabulate_similarity,
    ),
    "compare": Subject(
        # Its module imports Keras when the function is used.
        lambda folders: analysis.compare_curves(folders),
        "plot_comparison",
        tabulate=_tabulate_comparison,
    ),
}
