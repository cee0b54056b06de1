"""Arguments that choose a task, its files and their columns."""

import dataclasses
import pathlib
import re

from albert_keras.cli.options import flag_of
from albert_keras.cli.results import note
from albert_keras.cli.run_folder import positive_int
from albert_keras.tasks import HEADS, LONG_TEXTS, TASKS
from albert_keras.tasks.multiple_choice.reading import LEVELS

# Fields of tasks that are arguments of the same name.
OPTIONS = (
    "long_texts",
    "label_smoothing",
    "level",
    "tag_feature",
    "head",
    "doc_stride",
    "max_question_length",
    "max_answer_length",
)

# Arguments that name the columns of a table.
COLUMNS = ("text_column", "pair_column", "label_column")

_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+")

# Spelled so on the command line, for a task's own data set in TensorFlow Datasets.
TFDS = "tfds"


def add_task_arguments(parser):
    """Adds `--task` and what may differ from its usual files."""
    parser.add_argument("--task", required=True, choices=list(TASKS))
    add_column_arguments(parser)
    group = parser.add_argument_group("task")
    group.add_argument(
        "--long-texts",
        choices=LONG_TEXTS,
        help="what is kept of a text longer than a sequence; `windows` keeps all, and "
        "averages their logits",
    )
    group.add_argument(
        "--class-weights",
        nargs="+",
        metavar="LABEL=WEIGHT",
        help="weights of labels in the loss, or `balanced`",
    )
    group.add_argument("--label-smoothing", type=float)
    group.add_argument("--level", choices=LEVELS, help="part of RACE (default: all)")
    group.add_argument("--tag-feature", help="tags of a TFDS data set (default: ner)")
    group.add_argument(
        "--head",
        choices=HEADS,
        help="of question answering: start and end apart, or the joint head of SQuAD 2.0",
    )
    for name in ("doc-stride", "max-question-length", "max-answer-length"):
        group.add_argument(f"--{name}", type=positive_int, help="in tokens")


def add_column_arguments(parser):
    """Adds the names of a table's columns, `COLUMNS`."""
    for name in COLUMNS:
        parser.add_argument(flag_of(name))


def configure_task(name, arguments):
    """Returns a task with the arguments' columns, options and recipe.

    Args:
        name: str, of `TASKS`.
        arguments: Namespace, in which any of the arguments may be absent.

    Raises:
        ValueError: If the task has no such option.
    """
    task = TASKS[name]
    given = {key: value for key, value in vars(arguments).items() if value is not None}
    options = {key: given[key] for key in OPTIONS if key in given}
    if "class_weights" in given:
        options["class_weights"] = _parse_weights(given["class_weights"])
    columns = {
        name.removesuffix("_column"): given[name] for name in COLUMNS if name in given
    }
    if columns and hasattr(task, "columns"):
        options["columns"] = task.columns.renamed(**columns)
        if task.tfds_columns:
            options["tfds_columns"] = task.tfds_columns.renamed(**columns)
    known = {field.name for field in dataclasses.fields(task)}
    if not options.keys() <= known or (columns and "columns" not in known):
        raise ValueError(
            "An option must be one of the task's. Received: "
            f"{', '.join([*(options.keys() - known), *columns])} for the task {name}, "
            "which has none such. Leave it out."
        )
    return dataclasses.replace(task, **options, recipe=_recipe(task.recipe, given))


def _recipe(recipe, given):
    if "num_epochs" in given and "num_steps" in given:
        raise ValueError(
            "The length of a run is told in epochs or in steps. Received: "
            f"--num-epochs {given['num_epochs']} and --num-steps {given['num_steps']}. "
            "Leave one out."
        )
    names = {field.name for field in dataclasses.fields(recipe)}
    changes = {name: value for name, value in given.items() if name in names}
    if "num_epochs" in given:
        changes["num_steps"] = None
    # The recipe's warm-up belongs to its own number of steps.
    if "num_steps" in changes:
        changes.setdefault("warmup_steps", None)
    return dataclasses.replace(recipe, **changes)


def _parse_weights(words):
    if words == ["balanced"]:
        return "balanced"
    weights = {}
    for word in words:
        label, _, weight = word.rpartition("=")
        if not label or not _NUMBER.fullmatch(weight):
            raise ValueError(
                "Class weights must be `balanced` or LABEL=WEIGHT, with weights that are "
                f"not negative. Received: {' '.join(words)}."
            )
        weights[label] = float(weight)
    return weights


def find_files(task, arguments):
    """Returns where a task's rows are: a dict with `train` and maybe `validation*`.

    Raises:
        ValueError: If neither a folder nor a training file is given, or the folder has
            no training file, or the task has no data set in TFDS.
    """
    given = {
        name: path
        for name in ("train", "validation")
        if (path := getattr(arguments, name, None))
    }
    if arguments.data is None:
        found = {}
    elif arguments.data == TFDS or arguments.data.startswith(f"{TFDS}:"):
        found = _tfds_sources(task, arguments.data)
    else:
        found = _files_of_folder(task, pathlib.Path(arguments.data))
    found |= given
    if "train" not in found:
        raise ValueError(
            "Training needs rows, of a file by --train or of a folder by --data that has "
            f"{task.files.get('train', 'a file to train on')}. "
            f"Received: --data {arguments.data}."
        )
    _check_tag_feature(arguments, found)
    return found


def _files_of_folder(task, folder):
    if not folder.is_dir():
        raise FileNotFoundError(
            "The data must be a folder in the task's layout. "
            f"Received: '{folder}', which is none. Give files by --train and "
            "--validation."
        )
    return {
        name: str(folder / file)
        for name, file in task.files.items()
        if (folder / file).exists() and not name.startswith("test")
    }


def _check_tag_feature(arguments, found):
    tag_feature = getattr(arguments, "tag_feature", None)
    files = [path for path in found.values() if not path.startswith(f"{TFDS}:")]
    if tag_feature and files:
        raise ValueError(
            "`--tag-feature` names the tags of a TFDS data set; those of a file are its "
            f"last column. Received: --tag-feature {tag_feature}, '{files[0]}'."
        )


def _tfds_sources(task, source):
    name = source.partition(":")[2] or task.tfds_name
    if name is None:
        raise ValueError(
            "The task must have a data set in TFDS. Received: one without. Name it, "
            "`--data tfds:NAME`, or give files."
        )
    if "train" not in task.files:
        raise ValueError(
            "The task must have rows to train on. "
            f"Received: '{name}', for one of predictions alone. Give it to `predict` as "
            f"`--data tfds:{name}:test`."
        )
    splits = task.tfds_splits or {
        key: file.rsplit(".", 1)[0].replace("dev", "validation")
        for key, file in task.files.items()
        if not key.startswith("test")
    }
    return {key: f"tfds:{name}:{split}" for key, split in splits.items()}


def note_overlap(task, train, held_out):
    """Says how many held-out texts stand among the training rows too.

    Returns:
        Their number.
    """
    known = set(task.text_keys(train))
    keys = task.text_keys(held_out)
    num_known = sum(key in known for key in keys)
    note(f"of {len(keys)} held-out texts {num_known} stand in the training rows too")
    return num_known
