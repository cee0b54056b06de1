"""Bad command lines, generated from the commands' parsers.

A command works, or it refuses an option in one line (wrong usage in two) and has then
written nothing.
"""

import argparse
import os
import random

from albert_keras import cli
from tools.torture_cases import named_options, trial
from tools.torture_cases.materials import LENGTH, SHAPE

KIND = "options"

# A whole command line of each command. Paths are relative to a folder with `m`, a link to
# the materials.
COMMANDS = {
    "train-vocabulary": "m/corpus.txt --output output --vocabulary-size 150",
    "prepare-data": "m/corpus.txt --tokenizer m/vocabulary.model --output output "
    f"--workers 1 --sequence-length {LENGTH} --num-shards 2",
    "pretrain": "--data m/tokens --tokenizer m/vocabulary.model --run output "
    f"{SHAPE} --num-steps 1 --batch-size 3",
    "finetune": "--task text-classification --train m/rows.tsv --run output "
    "--checkpoint m/pretrained --num-steps 1 --batch-size 3 --sequence-length 16",
    "evaluate": "m/classifier --data m/rows.tsv --report output",
    "predict": "m/classifier text --output output.csv",
    "convert": "m/huggingface --output output",
    "export": "m/classifier --output output",
    "analyze": "parameters --preset albert_test",
    "quickstart": "",
}
# They say how long to work, and may be great.
_LENGTHS = {"num_steps", "num_epochs", "seeds", "pretraining_steps"}

_WORDS = (
    *(
        "",
        " ",
        "x",
        "-",
        "--",
        "=",
        "x" * 5000,
        "é中🙂",
        "\udcff",
        "a\nb",
        "%s{0}",
        "~",
    ),
    *("absent", "absent/absent", "m", "m/corpus.txt", ".", "..", "/dev/null"),
    # No pipe, whose writer a command waits for, and not all files of the machine. Named
    # cases have them as outputs.
    *("m/corpus.txt/absent", "\x1b[31m", "$(id)", "None", "-1", "hf://x"),
)
_NUMBERS = (
    *("", "x", "1.5", "-1", "0", "1", "1e3", "nan", "inf", "-inf", "1e400", "0x10"),
    *("-0.0", "1e-300", "0.5", "9" * 400, "1,5", "٣", " 3 ", "1_0", "\udcff"),
)
_GREAT = ("100000", "2147483648", "99999999999999999999")


def names(count, seed):
    """Returns the names of cases: those of `named_options` first, then of seeds."""
    seeds = (
        f"{[*COMMANDS][number % len(COMMANDS)]}:{seed}-{number}"
        for number in range(count)
    )
    return [f"{KIND}:{name}" for name in (*named_options.CASES, *seeds)][:count]


def run(case, materials, folder):
    """Runs a case, as `files.run` does."""
    _, name, seed = case.split(":")
    materials.link(folder, COMMANDS[name])
    os.mkfifo(folder / "fifo")
    folder.chmod(0o777)
    special = named_options.CASES.get(f"{name}:{seed}")
    words = [name, *COMMANDS[name].split()]
    if special:
        words += special
    else:
        words = hostile_words(words, random.Random(case))
    if name == "quickstart":
        # Into a folder that is not empty, because the whole takes minutes.
        words += ["--output", "."]
    before = _state_of(folder)
    outcome = trial.run(words, folder, unprivileged=True)
    found = list(trial.complaints(outcome))
    if special and outcome.status == 0:
        found.append("was accepted, and must be refused")
    changed = _state_of(folder) ^ before
    if outcome.status in (1, 2) and changed:
        found.append(f"wrote {', '.join(sorted({path for path, *_ in changed}))}")
    return words, found


def hostile_words(words, chance):
    """Returns a command's words with hostile values, repetitions, gaps or new options."""
    _, parser = cli.make_parsers(words[:1])
    actions = [
        action
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        and action.dest not in ("help", "json", "traceback", "verbose", "offline")
    ]
    words = list(words)
    kind = chance.random()
    if kind < 0.05 and len(words) > 1:
        del words[chance.randrange(1, len(words))]
    elif kind < 0.1:
        words.insert(chance.randrange(1, len(words) + 1), chance.choice(_WORDS))
    else:
        for action in chance.sample(actions, chance.choice([1, 1, 1, 2])):
            for _ in range(chance.choice([1, 1, 1, 2])):
                words = _with_value(words, action, chance)
    return words


def _with_value(words, action, chance):
    """Returns words with a hostile value of an option, or of a positional argument."""
    if action.nargs == 0:
        return [*words, chance.choice(action.option_strings)]
    is_number = action.type not in (None, str) and action.type.__name__ != "str"
    values = [*(_NUMBERS if is_number else _WORDS)]
    if is_number and action.dest not in _LENGTHS:
        values += _GREAT
    values += action.choices or ()
    value = chance.choice(values)
    if action.option_strings:
        end = [] if chance.random() < 0.05 else [value]
        return [*words, action.option_strings[0], *end]
    return [words[0], value, *words[2:]]


def _state_of(folder):
    """Returns path, size and time of all files, and where links lead."""
    found = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        for name in (*folders, *files):
            path = os.path.join(root, name)
            status = os.lstat(path)
            found.add(
                (os.path.relpath(path, folder), status.st_size, status.st_mtime_ns)
            )
    return found
