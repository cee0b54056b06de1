"""Kills of every command that writes, at a random moment or before a change of files.

After a kill an output is what it was before, or whole. The same command again gives the
content of a run that nobody disturbed, and leaves nothing else.
"""

import functools
import hashlib
import io
import json
import random
import re
import shutil
import signal
from typing import NamedTuple

import numpy as np

from albert_keras.system.files import LOCK
from tools.torture_cases import trial
from tools.torture_cases.materials import LENGTH, SHAPE

KIND = "kills"

_PREPARE = (
    "prepare-data m/corpus.txt --tokenizer m/vocabulary.model --output output "
    f"--sequence-length {LENGTH} --num-shards 3"
)
_RECORDS = "--format tfrecord --dupe-factor 2"
_FINETUNE = (
    "finetune --task text-classification --train m/rows.tsv --checkpoint m/pretrained "
    "--run output --num-steps 4 --steps-per-checkpoint 1 --batch-size 3 "
    "--sequence-length 16"
)

# Command lines in a folder with `m`, a link to the materials.
COMMANDS = {
    "train-vocabulary": "train-vocabulary m/corpus.txt --vocabulary-size 150 "
    "--output output.model",
    "records": f"{_PREPARE} --workers 1 {_RECORDS}",
    "tokens": f"{_PREPARE} --workers 1",
    "workers": f"{_PREPARE} --workers 2 {_RECORDS}",
    "pretrain": "pretrain --data m/tokens --tokenizer m/vocabulary.model --run output "
    f"{SHAPE} --num-steps 4 --steps-per-checkpoint 1 --batch-size 3",
    "pretrain-text": "pretrain --text m/corpus.txt --tokenizer m/vocabulary.model "
    f"--run output {SHAPE} --sequence-length {LENGTH} --num-steps 2 --batch-size 3 "
    "--workers 1",
    "finetune": _FINETUNE,
    "seeds": f"{_FINETUNE} --seeds 2",
    "keras": "convert m/huggingface --output output --report report.json",
    "keras_hub": "convert m/preset --to keras_hub --output output",
    "google": "convert m/preset --to google --output output",
    "huggingface": "convert m/preset --to huggingface --output output",
    "saved_model": "export m/classifier --output output",
    "tflite": "export m/classifier --format tflite --output output.tflite",
    "tflite-int8": "export m/classifier --format tflite --quantization int8 "
    "--output output.tflite",
    "evaluate": "evaluate m/classifier --data m/rows.tsv --report output",
    "predict": "predict m/classifier --data m/rows.tsv --output output.csv",
}
# Commands that replace what they wrote before, and what lies there.
OLD_OUTPUTS = {
    "keras": "classifier/model",
    "huggingface": "huggingface",
    "saved_model": "saved_model",
    "tflite": "model.tflite",
    "predict": "rows.csv",
    "train-vocabulary": "vocabulary.model",
}
# Their work is resumed, or they add files to a folder, each of them whole.
_WRITE_FILE_BY_FILE = {
    *("records", "tokens", "workers", "pretrain", "pretrain-text", "finetune", "seeds"),
    "evaluate",
}
# Of all cases: the longer a command, the fewer.
_WEIGHTS = {"workers": 2, "pretrain-text": 1, "seeds": 1, "tflite-int8": 1}


def names(count, seed):
    """Returns the names of cases, all of seeds."""
    groups = [group for group in COMMANDS for _ in range(_WEIGHTS.get(group, 3))]
    return [f"{KIND}:{groups[n % len(groups)]}:{seed}-{n}" for n in range(count)]


def run(case, materials, folder):
    """Runs a case, as `files.run` does."""
    group = case.split(":")[1]
    chance = random.Random(case)
    words = COMMANDS[group].split()
    has_old = group in OLD_OUTPUTS and chance.random() < 0.5
    whole = undisturbed(group, has_old, materials, folder)
    begin(group, has_old, materials, folder)
    before = content_of(folder)
    kill = choose_kill(group, whole, chance)
    killed = trial.run(words, folder, kill)
    found = [*complaints_of_killed(killed)]
    if group not in _WRITE_FILE_BY_FILE:
        found += not_whole(content_of(folder), before, whole.content)
    again = trial.run(words, folder)
    found += [f"again: {complaint}" for complaint in trial.complaints(again)]
    if again.status != 0:
        found.append(f"again: {again.last_line()}")
    else:
        found += differences(content_of(folder), whole.content)
    return words, [f"{complaint} ({kill})" for complaint in found]


def begin(group, has_old, materials, folder):
    """Makes the folder of a case as it is before the command."""
    for path in folder.iterdir():
        shutil.rmtree(
            path
        ) if path.is_dir() and not path.is_symlink() else path.unlink()
    materials.link(folder, COMMANDS[group])
    if has_old:
        name, *inner = OLD_OUTPUTS[group].split("/")
        old = materials.path(name).joinpath(*inner)
        output = folder / re.search(r" (output\S*)", COMMANDS[group])[1]
        (shutil.copytree if old.is_dir() else shutil.copyfile)(old, output)


class Whole(NamedTuple):
    """What a command does that nobody disturbs, and the content of its folder."""

    outcome: trial.Outcome
    content: dict


@functools.cache
def undisturbed(group, has_old, materials, folder):
    """Runs a command that nobody disturbs; returns a `Whole`."""
    begin(group, has_old, materials, folder)
    outcome = trial.run(COMMANDS[group].split(), folder)
    if outcome.status != 0:
        raise RuntimeError(f"{group} fails undisturbed: {outcome.errors}")
    return Whole(outcome, content_of(folder))


def choose_kill(group, whole, chance):
    """Returns a `Kill` at a moment, or at a change of files, of a command's work."""
    how = signal.SIGKILL
    if chance.random() < 0.25:
        how = chance.choice([signal.SIGTERM, signal.SIGINT])
    if chance.random() < 0.5:
        return trial.Kill(how, change=chance.randrange(whole.outcome.num_changes))
    seconds = round(chance.uniform(0, whole.outcome.seconds), 3)
    of_worker = group == "workers" and chance.random() < 0.7
    return trial.Kill(
        signal.SIGKILL if of_worker else how, seconds, of_worker=of_worker
    )


def complaints_of_killed(outcome):
    """Yields what is wrong with the end of a command that was killed."""
    if outcome.status is None:
        yield "it hangs"
    if outcome.has_survivors:
        yield "processes outlive it"
    if "Traceback (most recent" in outcome.errors:
        yield f"traceback: {outcome.last_line()}"
    if outcome.status == 1:
        yield from trial.complaints(outcome)


def not_whole(content, before, whole):
    """Yields the files that are neither as before nor whole, of what is not resumed."""
    paths = {path for path in content if not path.startswith(".")}
    outputs = {path.split("/")[0] for path in {*before, *whole}}
    for output in sorted(outputs):
        of_output = {
            name: {p: c for p, c in found.items() if p.split("/")[0] == output}
            for name, found in (("now", content), ("old", before), ("new", whole))
        }
        is_whole = of_output["now"] in (of_output["old"], of_output["new"])
        # A folder that is replaced is absent for an instant.
        is_absent_folder = output not in content and whole.get(output, "") is None
        if not is_whole and not is_absent_folder:
            yield f"{output} is neither old nor new"
    for path in sorted({path.split("/")[0] for path in paths} - outputs):
        yield f"{path} is there"


def differences(content, whole):
    """Yields how the content of a folder differs from that of an undisturbed run."""
    for path in sorted({*content, *whole}):
        if content.get(path) != whole.get(path):
            what = "differs" if path in content and path in whole else "is there"
            yield f"{path} {what if path in content else 'is absent'}"


def content_of(folder):
    """Returns the checksum of the content of each file, by path in a folder."""
    content = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if ".albert_keras-" in name or path.name == LOCK:
            # What a killed process wrote beside its target stays, and its claim may.
            continue
        if path.is_symlink() or path.name.startswith("events.out.tfevents."):
            # The view of the log for TensorBoard has times in names and lines.
            continue
        if path.is_dir():
            content[name] = None
            continue
        canonical = _CANONICAL.get(path.suffix, lambda content: content)
        content[name] = hashlib.sha256(canonical(path.read_bytes())).hexdigest()
    return content


# Keys of JSON files whose values are times.
_TIMES = {"seconds", "tokens_per_second", "date_saved"}


def _without_times(value):
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k not in _TIMES}
    return [*map(_without_times, value)] if isinstance(value, list) else value


def _canonical_json(content):
    return json.dumps(_without_times(json.loads(content))).encode()


def _canonical_lines(content):
    return b"\n".join(map(_canonical_json, content.splitlines()))


def _canonical_npz(content):
    """Returns the arrays of a checkpoint, without the times in its state."""
    with np.load(io.BytesIO(content)) as arrays:
        values = {name: arrays[name] for name in arrays.files}
    state = _without_times(json.loads(str(values.pop("content"))))
    checksums = {
        name: (
            str(value.dtype),
            value.shape,
            hashlib.sha256(value.tobytes()).hexdigest(),
        )
        for name, value in values.items()
    }
    return json.dumps([state, checksums]).encode()


_CANONICAL = {
    ".json": _canonical_json,
    ".jsonl": _canonical_lines,
    ".npz": _canonical_npz,
}
