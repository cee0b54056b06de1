"""The task of a fine-tuning run: options, recipe, files and rows."""

import dataclasses
import math
import pathlib

import numpy as np

from albert_keras.checks import check_choice, check_json
from albert_keras.options import check_unused, given_of
from albert_keras.presets.hub import check_known
from albert_keras.runs.finetuning_config import (
    DEFAULT_SPLIT,
    SWEEP,
    FinetuningRunConfig,
)
from albert_keras.runs.folder import RunFolder
from albert_keras.runs.reporting import note, warn
from albert_keras.system.fingerprints import fingerprint_files, fingerprint_folder
from albert_keras.tasks import TASKS, Recipe
from albert_keras.tasks.reading import is_tfds

# Value of `data` for the task's data set in TensorFlow Datasets.
TFDS = "tfds"

# Fewest steps of narrow models on small files, from `docs/results/measurements.md`.
LEAST_STEPS = 300
# Default of `layer_decay` for trained narrow models, from the same file.
LAYER_DECAY = 0.9

# The fewest different texts to hold some out.
_LEAST_TEXTS = 100

# If more than this share of held-out texts is in the training rows, scores mislead.
_MAX_OVERLAP = 0.1
# If fewer pieces are known, the tokenizer is probably for another language.
_MIN_KNOWN_PIECES = 0.8


def configure_task(config):
    """Returns the task of a `FinetuningRunConfig`, with columns, options and recipe.

    Raises:
        ValueError: If the task has no such option or column.
    """
    task = config.applied_to(TASKS[config.task], f"the task {config.task}")
    options = dict(config.task_options)
    unknown = sorted(options.keys() - vars(task).keys())
    if config.metric:
        reported = getattr(task, "metrics_reported", None)
        check_choice("metric", config.metric, reported or (task.main_metric,))
        if reported:
            names = dict.fromkeys((config.metric, *reported))
            options["metrics_reported"] = tuple(names)
    if unknown:
        raise ValueError(
            "Options must belong to the task. Received: "
            f"{', '.join(unknown)} for the task {config.task}. Remove them."
        )
    return dataclasses.replace(task, **options, recipe=choose_recipe(task, config))


def task_of_run(folder):
    """Returns the task of a fine-tuning run, without a tokenizer.

    Raises:
        FileNotFoundError: If the folder is not a run.
        ValueError: If it is a run of another kind, or `run.json` is damaged.
    """
    description = RunFolder(folder).read()
    if description["kind"] != FinetuningRunConfig.kind:
        raise ValueError(
            "The run must be one of `finetune`. "
            f"Received: '{folder}', a run of kind {description['kind']!r}."
        )
    try:
        config = FinetuningRunConfig.from_dict(description["config"], run=str(folder))
        task = configure_task(config)
        facts = {name: description[name] for name in task.facts}
        if "labels" in facts:
            check_json(facts, {"labels": [str]}, RunFolder(folder).path / "run.json")
        task = task.for_run(None, None, **facts)
        return dataclasses.replace(task, recipe=Recipe(**description["recipe"]))
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"`run.json` must describe a fine-tuning run. Received: '{folder}', with "
            f"{error!r}. Repeat the run's command to write it again."
        ) from error


def read_early(config):
    """Reads the files of a `FinetuningRunConfig`, to raise their errors early.

    The run finds the same errors, but only after the seconds in which Keras is imported.
    To read the files twice takes a thousandth of the training's time.
    """
    check_known(config.checkpoint)
    task = configure_task(config)
    sources = find_files(task, config.data, config.train, config.validation)
    for source in sources.values():
        # TFDS needs TensorFlow.
        if not is_tfds(source):
            task.read(source)


def choose_recipe(task, config):
    """Returns the recipe of a task, with the fields that a configuration sets."""
    if config.num_steps:
        check_unused(vars(config), ["num_epochs"], f"num_steps={config.num_steps}")
    given = given_of(config, vars(task.recipe).keys() & vars(config).keys())
    changes = {name: value for name, value in given.items() if value != SWEEP}
    if config.num_epochs:
        changes["num_steps"] = None
    # The recipe's warm-up is for its own number of steps.
    if "num_steps" in changes:
        changes.setdefault("warmup_steps", None)
    return dataclasses.replace(task.recipe, **changes)


def fit_recipe(task, config, shape):
    """Returns a task whose recipe fits the model that a run starts from.

    The default length is at most the model's number of positions.

    Args:
        task: `FinetuningTask`, as from `configure_task`.
        config: `FinetuningRunConfig`.
        shape: `AlbertConfig` of the model.
    """
    recipe, longest = task.recipe, shape.max_sequence_length
    if config.sequence_length is None and recipe.sequence_length > longest:
        recipe = dataclasses.replace(recipe, sequence_length=longest)
        note(f"examples have at most {longest} tokens, the positions of the model")
    if is_narrow(shape) and not (config.num_epochs or config.num_steps):
        # The paper's steps are for wide models: ten epochs of the complete data sets.
        steps = {"num_steps": None, "warmup_steps": config.warmup_steps}
        recipe = dataclasses.replace(recipe, **steps, least_steps=LEAST_STEPS)
    if is_narrow(shape) and not (config.layer_decay or config.random_weights):
        recipe = dataclasses.replace(recipe, layer_decay=LAYER_DECAY)
    return dataclasses.replace(task, recipe=recipe)


def fit_rate(recipe, config, shape):
    """Returns a recipe of known steps whose learning rate fits the model.

    Args:
        recipe: `Recipe` with `num_steps`.
        config, shape: See `fit_recipe`.
    """
    has_rule = is_narrow(shape) or config.random_weights
    if not has_rule or config.learning_rate not in (None, SWEEP):
        return recipe
    from albert_keras.optimizers.adamw import BASE_WIDTH, rate_of_shape

    width = shape.hidden_dim
    depth = config.model_options.get("num_layers", shape.num_layers)
    rate = rate_of_shape(width, depth, config.random_weights, recipe.num_steps)
    note(
        f"learning rate {rate:g}, the rule for width {width}, {depth} layers"
        f"{', random weights' * config.random_weights} and {recipe.num_steps} steps; "
        f"the task's rate, {recipe.learning_rate:g}, is for trained models of "
        f"{BASE_WIDTH} and more"
    )
    return dataclasses.replace(recipe, learning_rate=rate)


def is_narrow(shape):
    """Returns whether an `AlbertConfig` is narrower than the models of the paper."""
    # Imported here, because it imports Keras, and files are read before.
    from albert_keras.optimizers.adamw import BASE_WIDTH

    return shape.hidden_dim < BASE_WIDTH


def find_files(task, data=None, train=None, validation=None):
    """Returns the sources of a task's rows.

    Args:
        task: `FinetuningTask`.
        data: str, or None. A folder in the task's layout, `tfds` or `tfds:NAME`.
        train, validation: str, or None. Files that replace those of `data`.

    Returns:
        Dict of str: `train`, and if present `validation` and other held-out sets.

    Raises:
        ValueError: If there are no training rows, or the task has no data set in TFDS.
        FileNotFoundError: If `data` is not a folder.
    """
    if data is None:
        found = {}
    elif data == TFDS or str(data).startswith(f"{TFDS}:"):
        found = _tfds_sources(task, data)
    elif not (folder := pathlib.Path(data)).is_dir():
        raise FileNotFoundError(
            f"The data must be a folder in the task's layout. Received: '{folder}', "
            "which does not exist. Give files by --train and --validation."
        )
    else:
        found = {
            name: str(folder / file)
            for name, file in task.files.items()
            if (folder / file).exists() and not name.startswith("test")
        }
    given = {"train": train, "validation": validation}
    found |= {name: str(path) for name, path in given.items() if path}
    if "train" not in found:
        raise ValueError(
            "Training needs rows, by --train or by --data, a folder with "
            f"{task.files.get('train', 'a file to train on')}. Received: --data {data}."
        )
    return found


def _tfds_sources(task, source):
    name = source.partition(":")[2] or task.tfds_name
    if name is None:
        raise ValueError(
            "The task must have a data set in TFDS. Received: one without. Name it, "
            "`--data tfds:NAME`, or give files."
        )
    splits = task.tfds_splits or {
        key: file.rsplit(".", 1)[0].replace("dev", "validation")
        for key, file in task.files.items()
        if not key.startswith("test")
    }
    return {key: f"tfds:{name}:{split}" for key, split in splits.items()}


def read_rows(task, source, **options):
    """Returns `task.read(source, **options)`; prints how many rows it left out."""
    rows = task.read(source, **options)
    if num_skipped := getattr(rows, "num_skipped", 0):
        note(f"{num_skipped} broken rows of '{source}' were left out")
    return rows


def fingerprint_rows(source):
    """Returns a list with the `[path, fingerprint]` of a file or folder of rows.

    The name of a TFDS data set is its fingerprint, because the data do not change.
    """
    if is_tfds(source):
        return [[source, source]]
    if pathlib.Path(source).is_dir():
        # Other files in the folder, such as a run, are no rows.
        return [[str(source), fingerprint_folder(source, "*/*.txt")]]
    # The whole file, which a run reads anyway.
    return fingerprint_files([source], whole=True)


def hold_out(task, rows, share, seed, recorded):
    """Holds out a part of the training rows if a run has no held-out rows.

    Args:
        task: `FinetuningTask`.
        rows: Dict of the run's rows: `train`, and optionally `validation` and others.
        share: float, or None for the default share of files that are large enough.
        seed: int. Seed of the draw.
        recorded: Dict, the `run.json` of a run that is resumed, whose share is kept; or
            empty.

    Returns:
        Tuple of the rows, and the share that is held out, which may be 0.0.

    Raises:
        ValueError: If there are a share and held-out rows.
    """
    keys, has_file = task.split_keys(rows["train"]), "validation" in rows
    if recorded:
        share = recorded["validation_split"]
    elif share and has_file:
        raise ValueError(
            "Held-out rows are from a file, or a share of the training rows. "
            f"Received: validation_split={share} and a file. Remove one."
        )
    elif share is None and not has_file and len({*keys}) >= _LEAST_TEXTS:
        share = DEFAULT_SPLIT
    if not share:
        return rows, 0.0
    train, held_out = split_rows(task, rows["train"], share, seed)
    num_taken = len(keys) - len(task.split_keys(train))
    note(
        f"{num_taken} of {len(keys)} training rows are held out, drawn by seed {seed} "
        f"(--validation-split {share:g})"
    )
    return {"validation": held_out, **rows, "train": train}, share


def split_rows(task, rows, share, seed):
    """Splits rows by a seed; returns the rows to train on, and the held-out share.

    Rows with the same text stay together. If possible, labels are as frequent in both
    parts as in the whole.
    """
    from sklearn.model_selection import train_test_split

    keys = task.split_keys(rows)
    # From a key to the first row with it.
    first = {key: row for row, key in reversed([*enumerate(keys)])}
    if math.ceil(share * len(first)) >= len(first):
        raise ValueError(
            "`validation_split` must leave rows to train on. "
            f"Received: validation_split={share} of {len(first)} different texts."
        )
    labels = getattr(rows, "labels", None)
    strata = labels and [str(labels[row]) for row in first.values()]
    options = {"test_size": share, "random_state": seed}
    try:
        _, drawn = train_test_split([*first], **options, stratify=strata)
    except ValueError:
        # A label is too rare to be in both parts.
        _, drawn = train_test_split([*first], **options)
    held_out, parts = {*drawn}, ([], [])
    for row, key in enumerate(keys):
        parts[key in held_out].append(row)
    return tuple(_take(rows, positions) for positions in parts)


def _take(rows, positions):
    """Returns the rows at positions. Rows are a list, or a NamedTuple of columns."""
    if not hasattr(rows, "_replace"):
        return [rows[position] for position in positions]
    columns = {
        name: [column[position] for position in positions]
        for name, column in rows._asdict().items()
        if isinstance(column, list)
    }
    return rows._replace(**columns)


def report_overlap(task, train, held_out):
    """Prints how many held-out texts are in the training rows too; returns them."""
    known = set(task.text_keys(train))
    keys = task.text_keys(held_out)
    found = [key for key in keys if key in known]
    report = warn if len(found) > _MAX_OVERLAP * len(keys) else note
    report(f"of {len(keys)} held-out texts {len(found)} are in the training rows too")
    return found


def warn_of_unknown_pieces(tokenizer, examples):
    """Warns if many pieces of `Examples` are unknown to the vocabulary."""
    encoder = tokenizer.encoder
    others = set(encoder.special_token_ids) - {encoder.unk_token_id}
    token_ids = examples.token_arrays["token_ids"]
    is_known = token_ids[~np.isin(token_ids, list(others))] != encoder.unk_token_id
    known = np.mean(is_known) if len(is_known) else 1
    if known < _MIN_KNOWN_PIECES:
        warn(
            f"the vocabulary knows {known:.0%} of the pieces of the training texts. Is "
            "it of another language?"
        )
