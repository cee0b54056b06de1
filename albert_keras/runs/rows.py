"""Rows of a fine-tuning run: reading, holding out, and warnings about them."""

import collections
import math
import pathlib

import numpy as np

from albert_keras.runs.reporting import note, warn
from albert_keras.system.fingerprints import fingerprint_files, fingerprint_folder
from albert_keras.tasks.reading import is_tfds

# Default share of held-out rows, and the fewest different texts to hold some out.
DEFAULT_SPLIT = 0.1
_LEAST_TEXTS = 100

# If more than this share of held-out texts is in the training rows, scores mislead.
_MAX_OVERLAP = 0.1
# If fewer pieces are known, the tokenizer is probably for another language.
_MIN_KNOWN_PIECES = 0.8


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
    strata = _strata(rows, first.values(), share)
    _, drawn = train_test_split(
        range(len(first)), test_size=share, random_state=seed, stratify=strata
    )
    unique = [*first]
    held_out = {unique[index] for index in drawn}
    parts = [], []
    for row, key in enumerate(keys):
        parts[key in held_out].append(row)
    return tuple(_take(rows, positions) for positions in parts)


def _strata(rows, positions, share):
    """Returns the labels of rows for a stratified split; None if it is impossible."""
    labels = getattr(rows, "labels", None)
    if labels is None:
        return None
    strata = [str(labels[position]) for position in positions]
    counts = collections.Counter(strata)
    num_smaller = min(share, 1 - share) * len(strata)
    return strata if min(counts.values()) > 1 and len(counts) <= num_smaller else None


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
    pieces = token_ids[~np.isin(token_ids, list(others))]
    if len(pieces) == 0:
        return
    known = np.mean(pieces != encoder.unk_token_id)
    if known < _MIN_KNOWN_PIECES:
        warn(
            f"the vocabulary knows {known:.0%} of the pieces of the training texts. Is "
            "it of another language?"
        )
