"""Hostile files: mutations of whole ones in every format, read by the commands.

A file is refused in one line, or read; both in time that does not depend on what it
says, and in memory of the order of its size. What is refused leaves nothing behind.
"""

import random
import shutil
from typing import NamedTuple

from tools.torture_cases import named_files, trial
from tools.torture_cases.materials import PREPARE, SHAPE
from tools.torture_cases.mutations import damage

KIND = "files"


class Format(NamedTuple):
    """A format of files.

    Attributes:
        source: str. Name of a whole input in `Materials`, copied to `input`.
        command: str. Reads it.
        patterns: Tuple of str. The files that are damaged.
        weight: int. Share of the cases.
    """

    source: str
    command: str
    patterns: tuple = ("*.*",)
    weight: int = 2


_CONVERT = "convert input --output output"
_PREPARE = (
    "prepare-data {corpus.txt} --tokenizer input --output output --workers 1 "
    "--sequence-length 24 --num-shards 1 --format tfrecord --dupe-factor 1"
)
_PREPARE_TEXT = (
    "prepare-data input --tokenizer {vocabulary.model} --output output --workers 1 "
    "--sequence-length 24 --num-shards 1 --format tfrecord --dupe-factor 1"
)
_FINETUNE = (
    "finetune --task text-classification --checkpoint {pretrained} --run output "
    "--num-steps 1 --batch-size 3 --sequence-length 16 --train input/"
)

FORMATS = {
    "google": Format("google", _CONVERT, ("model*", "*.json")),
    "safetensors": Format("huggingface", _CONVERT, ("config.json", "*.safetensors")),
    "pytorch": Format("pytorch", _CONVERT, ("*.bin",)),
    "hdf5": Format("tensorflow_weights", _CONVERT, ("*.h5",)),
    "keras_hub": Format("keras_hub", _CONVERT, ("*.json", "*.h5")),
    "preset": Format("preset", _CONVERT, ("*.json", "*.h5"), 3),
    "model": Format("vocabulary.model", _PREPARE, ("*.model",)),
    "vocab": Format("vocab.txt", _PREPARE, ("*.txt",), 1),
    "tokenizer": Format("preset", _PREPARE, ("tokenizer.json", "assets/*/*"), 1),
    "saved_model": Format(
        "saved_model", "predict input text --output output.csv", ("*", "*/*"), 1
    ),
    "tflite": Format(
        "model.tflite",
        "predict input/model.tflite text --output output.csv",
        ("*.tflite",),
        3,
    ),
    "records": Format("records", "evaluate {pretrained} --data input", ("*.*",)),
    "tokens": Format("tokens", "evaluate {pretrained} --data input", ("*.*",)),
    "run": Format(
        "classifier",
        "predict input text --output output.csv",
        ("*.json*", "model/*"),
    ),
    "resumed": Format(
        "pretrained",
        "pretrain --data {tokens} --tokenizer {vocabulary.model} --run input "
        f"{SHAPE} --batch-size 3 --num-steps 3",
        ("*.json*", "checkpoints/*"),
        1,
    ),
    "unfinished": Format(
        "unfinished",
        PREPARE.replace("{itself}", "input"),
        ("unfinished/*.json", "unfinished/*/*"),
        1,
    ),
    "csv": Format("rows.csv", _FINETUNE + "rows.csv", ("*.csv",), 1),
    "tsv": Format("rows.tsv", _FINETUNE + "rows.tsv", ("*.tsv",), 1),
    "jsonl": Format("rows.jsonl", _FINETUNE + "rows.jsonl", ("*.jsonl",), 1),
    "corpus": Format("corpus.txt", _PREPARE_TEXT, ("*.txt",), 1),
    "documents": Format("documents.jsonl", _PREPARE_TEXT, ("*.jsonl",), 1),
}


def names(count, seed):
    """Returns the names of cases: those of `named_files` first, then those of seeds."""
    formats = [name for name, format in FORMATS.items() for _ in range(format.weight)]
    seeds = (
        f"{formats[number % len(formats)]}:{seed}-{number}" for number in range(count)
    )
    return [f"{KIND}:{name}" for name in (*named_files.CASES, *seeds)][:count]


def run(case, materials, folder):
    """Runs a case; returns the words of its command and what is wrong.

    Args:
        case: str, as of `names`.
        materials: `Materials`.
        folder: path. A new folder for the case.

    Returns:
        Tuple of the words and a list of complaints.
    """
    _, name, seed = case.split(":")
    format = FORMATS[name]
    copy = _copy_input(materials.path(format.source), folder / "input")
    special = named_files.CASES.get(f"{name}:{seed}")
    if special:
        special(folder / "input")
    else:
        chance = random.Random(case)
        files = sorted(
            file
            for pattern in format.patterns
            for file in copy.glob(pattern)
            if file.is_file()
        )
        damage(chance.choice(files), chance)
    words = materials.words(format.command)
    num_bytes = sum(file.stat().st_size for file in copy.rglob("*") if file.is_file())
    outcome = trial.run(words, folder)
    found = list(trial.complaints(outcome, num_bytes))
    if special and outcome.status == 0:
        found.append("was read, and must be refused")
    left = {path.name for path in folder.iterdir()} - {"input"}
    if outcome.status == 0:
        left = {name for name in left if name.startswith(".")}
    if left:
        found.append(f"left {', '.join(sorted(left))}")
    return words, found


def _copy_input(source, folder):
    if source.is_dir():
        shutil.copytree(source, folder)
    else:
        folder.mkdir()
        shutil.copy(source, folder)
    return folder
