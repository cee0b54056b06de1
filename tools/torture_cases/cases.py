"""Cases: commands that read damaged files, have a bad option, or get unfit rows.

A command works, or it refuses in one line (wrong usage in two) and has then written
nothing; both in time that does not depend on what a file says, and in memory of the order
of its size.
"""

import argparse
import os
import random
import shutil

from albert_keras import cli
from tools.torture_cases import materials, trial
from tools.torture_cases.materials import PREPARE, RECORDS, SHAPE
from tools.torture_cases.mutations import damage

# === Damaged files ===

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


def damage_input(name, chance, inputs, folder):
    """Copies an input with a damaged file; returns the words of its command."""
    source, command, pattern = FORMATS[name]
    inputs.link(folder, command)
    source, copy = inputs.path(source), folder / "input"
    if source.is_dir():
        shutil.copytree(source, copy)
    else:
        copy.mkdir()
        shutil.copy(source, copy)
    files = sorted(path for path in copy.glob(pattern) if path.is_file())
    damage(chance.choice(files), chance)
    return command.split()


# === Bad options ===

# A whole command line of each command, in a folder with `m`, a link to the materials:
# those that make materials, and some that only read them.
COMMANDS = {
    **{
        command.split()[0]: command.replace(f"m/{name}", "output")
        for name, command in materials.COMMANDS.items()
    },
    "evaluate": "evaluate m/classifier --data m/rows.tsv --report output",
    "predict": "predict m/classifier text --output output.csv",
    "analyze": "analyze parameters --preset albert_test",
}
# They say how long to work, and may be great.
LENGTHS = {"num_steps", "num_epochs", "seeds", "pretraining_steps"}
WORDS = (
    *("", " ", "x", "-", "--", "=", "x" * 5000, "é中🙂", "\udcff", "a\nb", "%s{0}"),
    *("absent", "absent/absent", "m", "m/corpus.txt", ".", ".."),
    *("/", "fifo", "m/corpus.txt/absent", "/dev/null", "/dev/null/absent", "~"),
    *("\x1b[31m", "$(id)", "None", "-1", "hf://x"),
)
NUMBERS = (
    *("", "x", "1.5", "-1", "0", "1", "1e3", "nan", "inf", "-inf", "1e400", "0x10"),
    *("-0.0", "1e-300", "0.5", "9" * 400, "1,5", "٣", " 3 ", "1_0", "\udcff"),
)
GREAT = ("100000", "2147483648", "99999999999999999999")


def with_bad_option(name, chance, inputs, folder):
    """Returns a command's words with a bad value, or without a word."""
    inputs.link(folder, COMMANDS[name])
    os.mkfifo(folder / "fifo")
    # The command does not run as root.
    folder.chmod(0o777)
    words = COMMANDS[name].split()
    if chance.random() < 0.05 and len(words) > 1:
        del words[chance.randrange(1, len(words))]
        return words
    _, parser = cli.make_parsers(words[:1])
    left_out = ("help", "json", "traceback", "verbose", "offline")
    actions = [a for a in parser._actions if a.dest not in left_out]
    action = chance.choice([a for a in actions if a.help != argparse.SUPPRESS])
    if action.nargs == 0:
        return [*words, action.option_strings[0]]
    is_number = action.type not in (None, str) and action.type.__name__ != "str"
    values = [*(NUMBERS if is_number else WORDS), *(action.choices or ())]
    if is_number and action.dest not in LENGTHS:
        values += GREAT
    value = chance.choice(values)
    if action.option_strings:
        return [*words, action.option_strings[0], value]
    return [words[0], value, *words[2:]]


# === Rows and options that do not fit an embedder ===

_EMBEDDING = (
    "finetune --task embedding --checkpoint m/pretrained --run output --num-steps 1 "
    "--batch-size 3 --sequence-length 16 --train rows.csv "
)
_PAIRS = "text,text_pair\na,b\nc,d\ne,f\n"
_SCORED = "text,text_pair,label\na,b,1\nc,d,"
# Rows, and options that are added. All must be refused.
EMBEDDERS = {
    "text_alone": ("text\na\nb\nc\n", ""),
    "missing_column": (_PAIRS, "--pair-column answer"),
    "score_that_is_a_word": (f"{_SCORED}high\n", "--objective cosent"),
    "one_row": ("text,text_pair\na,b\n", ""),
    "equal_texts": ("text,text_pair\n" + "a,a\n" * 9, ""),
    "too_many_dimensions": (_PAIRS, "--least-dimensions 999"),
}


def with_unfit_rows(name, chance, inputs, folder):
    """Writes rows that cannot be learned from; returns the words of their command."""
    rows, options = EMBEDDERS[name]
    inputs.link(folder, _EMBEDDING)
    (folder / "rows.csv").write_text(rows)
    return [*_EMBEDDING.split(), *options.split()]


# === All ===


# By kind: number of cases, their groups, the function that prepares a case and returns
# the words of its command, and whether root runs it as a user without rights, since it
# may write anywhere.
KINDS = {
    "files": (2000, FORMATS, damage_input, False),
    "options": (500, COMMANDS, with_bad_option, True),
    "embedders": (6, EMBEDDERS, with_unfit_rows, False),
}


def names(kind, seed):
    """Returns the names of the cases of a kind, as many of each group."""
    count, groups, *_ = KINDS[kind]
    groups = [*groups]
    return [f"{kind}:{groups[n % len(groups)]}:{seed}-{n}" for n in range(count)]


def run(case, inputs, folder):
    """Runs a case; returns the words of its command and what is wrong.

    Args:
        case: str, as of `names`.
        inputs: `Materials`.
        folder: path. A new folder for the case.

    Returns:
        Tuple of the words and a list of complaints.
    """
    kind, group, _ = case.split(":")
    *_, prepare, as_nobody = KINDS[kind]
    words = prepare(group, random.Random(case), inputs, folder)
    num_bytes = sum(size for _, size, _ in state_of(folder / "input"))
    before = state_of(folder)
    outcome = trial.run(words, folder, as_nobody)
    complaints = [*trial.complaints(outcome, num_bytes)]
    if kind == "embedders" and outcome.status == 0:
        complaints.append("was not refused")
    changed = {path for path, *_ in state_of(folder) ^ before}
    # A run is resumed in its folder.
    changed = {path for path in changed if not path.startswith("input")}
    if outcome.status == 0:
        changed = {path for path in changed if path.startswith(".")}
    if changed:
        complaints.append(f"left {', '.join(sorted(changed))}")
    return words, complaints


def state_of(folder):
    """Returns path, size and time of all files, and where links lead."""
    found = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        for name in (*folders, *files):
            path = os.path.join(root, name)
            status = os.lstat(path)
            name = os.path.relpath(path, folder)
            found.add((name, status.st_size, status.st_mtime_ns))
    return found
