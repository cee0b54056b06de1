"""Hostile files: mutations of whole ones in every format, read by the commands.

A file is refused in one line, or read; both in time that does not depend on what it
says, and in memory of the order of its size. What is refused leaves nothing behind.
"""

import json
import random
import shutil

from tools.torture_cases import trial
from tools.torture_cases.materials import PREPARE, RECORDS, SHAPE
from tools.torture_cases.mutations import FOUND, damage

KIND = "files"
_CONVERT = "convert input --output output"
_TOKENIZER = f"prepare-data m/corpus.txt --tokenizer input --output output {PREPARE}"
_TEXT = f"prepare-data input --tokenizer m/vocabulary.model --output output {PREPARE}"
_FINETUNE = (
    "finetune --task text-classification --checkpoint m/pretrained --run output "
    "--num-steps 1 --batch-size 3 --sequence-length 16 --train input/"
)
_PREDICT = "predict input{} text --output output.csv"

# A whole input, which is copied to `input`; the command that reads it; and the files that
# are damaged.
FORMATS = {
    "google": ("google", _CONVERT, "*"),
    "safetensors": ("huggingface", _CONVERT, "*.safetensors"),
    "config": ("huggingface", _CONVERT, "config.json"),
    "pytorch": ("pytorch", _CONVERT, "*.bin"),
    "keras_hub": ("keras_hub", _CONVERT, "*.*"),
    "preset": ("preset", _CONVERT, "*.*"),
    "model": ("vocabulary.model", f"{_TOKENIZER} {RECORDS}", "*"),
    "vocab": ("vocab.txt", _TOKENIZER, "*"),
    "tokenizer": ("preset", _TOKENIZER, "tokenizer.json"),
    "saved_model": ("saved_model", _PREDICT.format(""), "**/*"),
    "tflite": ("model.tflite", _PREDICT.format("/model.tflite"), "*"),
    "records": ("records", "evaluate m/pretrained --data input", "*.*"),
    "tokens": ("tokens", "evaluate m/pretrained --data input", "*.*"),
    "run": ("classifier", _PREDICT.format(""), "*.json"),
    "resumed": (
        "pretrained",
        "pretrain --data m/tokens --tokenizer m/vocabulary.model --run input "
        f"{SHAPE} --batch-size 3 --num-steps 3",
        "checkpoints/*",
    ),
    "csv": ("rows.csv", f"{_FINETUNE}rows.csv", "*"),
    "tsv": ("rows.tsv", f"{_FINETUNE}rows.tsv", "*"),
    "jsonl": ("rows.jsonl", f"{_FINETUNE}rows.jsonl", "*"),
    "corpus": ("corpus.txt", _TEXT, "*"),
    "documents": ("documents.jsonl", _TEXT, "*"),
}


def names(count, seed):
    """Returns the names of cases: first those in `FOUND`, then those of seeds."""
    formats = [*FORMATS]
    seeds = (f"{formats[n % len(formats)]}:{seed}-{n}" for n in range(count))
    return [f"{KIND}:{name}" for name in (*FOUND, *seeds)][:count]


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
    source, command, pattern = FORMATS[name]
    materials.link(folder, command)
    source, copy = materials.path(source), folder / "input"
    if source.is_dir():
        shutil.copytree(source, copy)
    else:
        copy.mkdir()
        shutil.copy(source, copy)
    if found_by_hand := FOUND.get(f"{name}:{seed}"):
        file, *keys, value = found_by_hand
        content = tree = json.loads((copy / file).read_text("utf-8"))
        for key in keys[:-1]:
            tree = tree[key]
        tree[keys[-1]] = value
        (copy / file).write_text(json.dumps(content), "utf-8")
    else:
        chance = random.Random(case)
        files = sorted(path for path in copy.glob(pattern) if path.is_file())
        damage(chance.choice(files), chance)
    num_bytes = sum(path.stat().st_size for path in copy.rglob("*") if path.is_file())
    outcome = trial.run(command.split(), folder)
    found = [*trial.complaints(outcome, num_bytes)]
    if found_by_hand and outcome.status == 0:
        found.append("was read, and must be refused")
    left = {path.name for path in folder.iterdir()} - {"input", "m"}
    if outcome.status == 0:
        left = {name for name in left if name.startswith(".")}
    if left:
        found.append(f"left {', '.join(sorted(left))}")
    return command.split(), found
