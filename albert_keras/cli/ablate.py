r"""Repeat one of the paper's ablations at a size for this machine.

Each arm is trained with several seeds, one process a core, on the same batches in all
arms of a seed. The folder gets a table (mean difference from the base arm and its
standard error, paired by seed), a picture with error bars and learning curves, the
paper's own numbers beside, and all of it as JSON. Interrupted, the same command resumes.

An arm that never left the loss of unigrams is not compared. So that small models leave it
soon, by default a vocabulary of 2,000 pieces is trained, rows have 16 tokens, and
embeddings a quarter of the hidden width.

examples:
  albert-keras ablate sharing --text corpus/ --output ablations/sharing
  albert-keras ablate dropout --text corpus/ --output ablations/dropout --budget 20
  albert-keras ablate sentence-task --text corpus/ --output ablations/pairs \
      --checkpoint albert_nano_en --sequence-length 32
  albert-keras ablate depth --text corpus/ --output ablations/depth --arms 1 3
"""

import pathlib
import textwrap

from albert_keras import analysis, runs
from albert_keras.cli.options import add_option, config_from
from albert_keras.cli.results import print_results
from albert_keras.cli.tables import tabulate_ablation
from albert_keras.files import check_replaceable_file
from albert_keras.runs.ablation_arms import ABLATIONS
from albert_keras.runs.ablation_config import AblationConfig

USAGE = "NAME --text TEXT ... --output FOLDER [options]"
OPTIONS = (
    *("text", "output", "budget", "seeds", "arms", "workers", "tokenizer"),
    *("vocabulary_size", "sequence_length", "checkpoint", "pretrain_option"),
)


def add_arguments(parser):
    parser.add_argument("name", choices=ABLATIONS, help="what is varied")
    for name in OPTIONS:
        add_option(parser, AblationConfig, name)
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="picture to write too, .png, .svg or .pdf (default: only ablation.png in "
        "the folder)",
    )
    lines = [
        textwrap.fill(
            f"{name}: {ablation.about}. Arms: {', '.join(ablation.arms)}",
            88,
            initial_indent="  ",
            subsequent_indent="      ",
        )
        for name, ablation in ABLATIONS.items()
    ]
    parser.epilog = "\n".join(["ablations:", *lines])


def run(arguments):
    config = config_from(arguments, AblationConfig)
    if arguments.plot:
        analysis.check_image_path(arguments.plot)
    check_replaceable_file(pathlib.Path(config.output, "ablation.json"))
    results = runs.AblationRun(config).run()
    if arguments.plot and results["compared"]:
        analysis.plot_ablation(results, arguments.plot)
    table = results if arguments.json else tabulate_ablation(results)
    print_results(f"ablation of {config.name}", table, arguments.json)
