"""Tiny inputs of all commands, each made by the command that makes it when first used."""

import json
import pathlib
import re
import shutil
import string
import subprocess
import sys

from albert_keras import sample
from tools.torture_cases import trial

# Tokens of the rows of every model here.
LENGTH = 24
SHAPE = f"--preset albert_test --max-sequence-length {LENGTH}"
PREPARE = f"--workers 1 --num-shards 2 --sequence-length {LENGTH}"
RECORDS = "--format tfrecord --dupe-factor 1"

COMMANDS = {
    "vocabulary.model": "train-vocabulary m/corpus.txt --vocabulary-size 150 "
    "--output m/vocabulary.model",
    "records": "prepare-data m/corpus.txt --tokenizer m/vocabulary.model "
    f"--output m/records {PREPARE} {RECORDS}",
    "tokens": "prepare-data m/corpus.txt --tokenizer m/vocabulary.model "
    f"--output m/tokens {PREPARE}",
    "pretrained": "pretrain --data m/tokens --tokenizer m/vocabulary.model "
    f"--run m/pretrained {SHAPE} --num-steps 2 --batch-size 3",
    "classifier": "finetune --task text-classification --train m/rows.tsv "
    "--checkpoint m/pretrained --run m/classifier --num-steps 2 --batch-size 3 "
    "--sequence-length 16",
    "preset": "convert m/pretrained --output m/preset",
    "google": "convert m/pretrained --to google --output m/google",
    "huggingface": "convert m/classifier --to huggingface --output m/huggingface",
    "keras_hub": "convert m/pretrained --to keras_hub --output m/keras_hub",
    "saved_model": "export m/classifier --output m/saved_model",
    "model.tflite": "export m/classifier --format tflite --output m/model.tflite",
}


class Materials:
    """A folder of inputs, made when they are first asked for."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, name):
        """Returns the path of an input."""
        path = self.folder / name
        if not path.exists():
            if name in COMMANDS:
                self._make(name)
            else:
                WRITERS[name](self, path)
        return path

    def link(self, folder, command):
        """Makes the inputs `m/NAME` of a command, and the link `m` to all of them."""
        for name in re.findall(r"\bm/([\w.]+)", command):
            self.path(name)
        if not (folder / "m").exists():
            (folder / "m").symlink_to(self.folder)

    def _make(self, name):
        # Its own output is no input.
        self.link(self.folder.parent, COMMANDS[name].replace(f"m/{name}", ""))
        outcome = trial.run(COMMANDS[name].split(), self.folder.parent)
        if outcome.status != 0:
            raise RuntimeError(f"{name} cannot be made: {outcome.errors}")


def _write_corpus(materials, path):
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    path.write_text("\n\n".join(documents[:30]) + "\n", "utf-8")


def _write_documents(materials, path):
    documents = materials.path("corpus.txt").read_text("utf-8").split("\n\n")
    lines = [json.dumps({"text": document}) for document in documents]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _write_rows(materials, path):
    lines = sample.REVIEWS_TRAIN.read_text("utf-8").splitlines()[:41]
    header, *rows = (line.split("\t") for line in lines)
    if path.suffix == ".csv":
        lines = [",".join(header), *(",".join(f'"{c}"' for c in row) for row in rows)]
    elif path.suffix == ".jsonl":
        lines = [json.dumps(dict(zip(header, row, strict=True))) for row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _write_word_pieces(materials, path):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [*string.ascii_lowercase, *".,'"]
    path.write_text("\n".join([*special, *letters, *(f"##{x}" for x in letters)]))


def _write_pytorch(materials, path):
    """Writes the weights of a Hugging Face folder as `pytorch_model.bin`."""
    shutil.copytree(materials.path("huggingface"), path)
    # In a process of its own, because PyTorch starts threads.
    code = "import safetensors.torch as s, torch; torch.save(s.load_file({!r}), {!r})"
    names = str(path / "model.safetensors"), str(path / "pytorch_model.bin")
    subprocess.run([sys.executable, "-c", code.format(*names)], check=True)
    (path / "model.safetensors").unlink()


WRITERS = {
    "corpus.txt": _write_corpus,
    "documents.jsonl": _write_documents,
    **dict.fromkeys(("rows.tsv", "rows.csv", "rows.jsonl"), _write_rows),
    "vocab.txt": _write_word_pieces,
    "pytorch": _write_pytorch,
}
