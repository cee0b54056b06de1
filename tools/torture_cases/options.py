"""Bad options: each option of the commands' parsers with bad values.

A command works, or it refuses an option in one line (wrong usage in two) and has then
written nothing.
"""

import argparse
import os
import random

from albert_keras import cli
from tools.torture_cases import materials, trial

KIND = "options"

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
    *("/dev/null", "~", "\x1b[31m", "$(id)", "None", "-1", "hf://x"),
)
NUMBERS = (
    *("", "x", "1.5", "-1", "0", "1", "1e3", "nan", "inf", "-inf", "1e400", "0x10"),
    *("-0.0", "1e-300", "0.5", "9" * 400, "1,5", "٣", " 3 ", "1_0", "\udcff"),
)
GREAT = ("100000", "2147483648", "99999999999999999999")
# Outputs that cannot be written; each must be refused.
OUTPUTS = {
    **dict.fromkeys(("train-vocabulary", "prepare-data", "convert"), "--output"),
    **dict.fromkeys(("export", "predict"), "--output"),
    **dict.fromkeys(("pretrain", "finetune"), "--run"),
    "evaluate": "--report",
}
PLACES = ("/", "fifo", "/dev/null/absent", "m/corpus.txt/absent")
FOUND = {
    f"{command}:{place}": [option, place]
    for command, option in OUTPUTS.items()
    for place in PLACES
}


def names(count, seed):
    """Returns the names of cases: first those in `FOUND`, then those of seeds."""
    commands = [*COMMANDS]
    seeds = (f"{commands[n % len(commands)]}:{seed}-{n}" for n in range(count))
    return [f"{KIND}:{name}" for name in (*FOUND, *seeds)][:count]


def run(case, inputs, folder):
    """Runs a case, as `files.run` does."""
    _, name, seed = case.split(":")
    inputs.link(folder, COMMANDS[name])
    os.mkfifo(folder / "fifo")
    folder.chmod(0o777)
    found_by_hand = FOUND.get(f"{name}:{seed}")
    words = COMMANDS[name].split()
    words = words + found_by_hand if found_by_hand else bad_words(words, case)
    before = state_of(folder)
    # A path may be anywhere.
    outcome = trial.run(words, folder, as_nobody=True)
    found = [*trial.complaints(outcome)]
    if found_by_hand and outcome.status == 0:
        found.append("was accepted, and must be refused")
    changed = state_of(folder) ^ before
    if outcome.status in (1, 2) and changed:
        found.append(f"wrote {', '.join(sorted({path for path, *_ in changed}))}")
    return words, found


def bad_words(words, case):
    """Returns a command's words with a bad value, or without a word."""
    chance = random.Random(case)
    _, parser = cli.make_parsers(words[:1])
    left_out = ("help", "json", "traceback", "verbose", "offline")
    action = chance.choice(
        [
            action
            for action in parser._actions
            if action.help != argparse.SUPPRESS and action.dest not in left_out
        ]
    )
    if chance.random() < 0.05 and len(words) > 1:
        place = chance.randrange(1, len(words))
        return words[:place] + words[place + 1 :]
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
