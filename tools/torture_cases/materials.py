"""Tiny inputs of all commands, each made by the command that makes it when first used."""

import json
import pathlib
import re
import shutil
import signal
import string
import subprocess
import sys

from albert_keras import sample
from tools.torture_cases import trial

NUM_DOCUMENTS, NUM_ROWS = 30, 40
# Of every model here.
LENGTH = 24

PREPARE = (
    "prepare-data {corpus.txt} --tokenizer {vocabulary.model} --output {itself} "
    f"--sequence-length {LENGTH} --num-shards 2 --workers 1 "
)
RECORDS = "--format tfrecord --dupe-factor 1"
SHAPE = f"--preset albert_test --max-sequence-length {LENGTH}"

COMMANDS = {
    "vocabulary.model": "train-vocabulary {corpus.txt} --vocabulary-size 150 "
    "--output {itself}",
    "records": f"{PREPARE} {RECORDS}",
    "tokens": f"{PREPARE}",
    "pretrained": "pretrain --data {tokens} --tokenizer {vocabulary.model} "
    f"--run {{itself}} {SHAPE} --num-steps 2 --batch-size 3",
    "classifier": "finetune --task text-classification --train {rows.tsv} "
    "--checkpoint {pretrained} --run {itself} --num-steps 2 --batch-size 3 "
    "--sequence-length 16",
    "preset": "convert {pretrained} --output {itself}",
    "google": "convert {pretrained} --to google --output {itself}",
    "huggingface": "convert {classifier} --to huggingface --output {itself}",
    "keras_hub": "convert {pretrained} --to keras_hub --output {itself}",
    "saved_model": "export {classifier} --output {itself}",
    "model.tflite": "export {classifier} --format tflite --output {itself}",
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
            make = _WRITERS.get(name)
            make(self, path) if make else self._run(name, path)
        return path

    def words(self, command, itself=None):
        """Returns the words of a command, with the paths of the inputs that it names."""

        def place(match):
            return str(itself if match[1] == "itself" else self.path(match[1]))

        return re.sub(r"\{([\w.]+)\}", place, command).split()

    def link(self, folder, command):
        """Makes the inputs `m/NAME` of a command, and the link `m` to all of them."""
        for name in re.findall(r"\bm/([\w.]+)", command):
            self.path(name)
        (folder / "m").symlink_to(self.folder)

    def _run(self, name, path):
        outcome = trial.run(self.words(COMMANDS[name], path), self.folder)
        if outcome.status != 0:
            raise RuntimeError(f"{name} cannot be made: {outcome.errors}")


def _write_corpus(materials, path):
    documents = sample.CORPUS.read_text("utf-8").split("\n\n")
    path.write_text("\n\n".join(documents[:NUM_DOCUMENTS]) + "\n", "utf-8")


def _write_documents(materials, path):
    documents = materials.path("corpus.txt").read_text("utf-8").split("\n\n")
    lines = [json.dumps({"text": document}) for document in documents]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _write_tsv(materials, path):
    lines = sample.REVIEWS_TRAIN.read_text("utf-8").splitlines()
    path.write_text("\n".join(lines[: NUM_ROWS + 1]) + "\n", "utf-8")


def _write_csv(materials, path):
    header, *rows = materials.path("rows.tsv").read_text("utf-8").splitlines()
    lines = [",".join(header.split("\t"))]
    lines += [",".join(f'"{cell}"' for cell in row.split("\t")) for row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _write_jsonl(materials, path):
    header, *rows = materials.path("rows.tsv").read_text("utf-8").splitlines()
    names = header.split("\t")
    cells = [dict(zip(names, row.split("\t"), strict=True)) for row in rows]
    lines = map(json.dumps, cells)
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


def _write_tensorflow_weights(materials, path):
    """Writes the weights of a Hugging Face folder as `tf_model.h5`."""
    import h5py
    import safetensors.numpy

    shutil.copytree(materials.path("huggingface"), path)
    tensors = safetensors.numpy.load_file(path / "model.safetensors")
    (path / "model.safetensors").unlink()
    with h5py.File(path / "tf_model.h5", "w") as file:
        for name, value in tensors.items():
            *scopes, leaf = name.split(".")
            if leaf == "weight" and "embeddings" in scopes[-1]:
                is_table = scopes[-1] == "word_embeddings"
                leaf = "weight" if is_table else "embeddings"
            elif "ayer" in scopes[-1] and "orm" in scopes[-1]:
                leaf = {"weight": "gamma", "bias": "beta"}[leaf]
            elif leaf == "weight":
                leaf, value = "kernel", value.T
            inner = re.sub(
                r"/(albert_layer(?:_group)?s)/(\d)", r"/\1_._\2", "/".join(scopes)
            )
            file[f"{scopes[0]}/model/{inner}/{leaf}:0"] = value


def _write_unfinished(materials, path):
    """Writes the folder of a killed `prepare-data`, and goes on until it has a plan."""
    words = materials.words(COMMANDS["records"], path)
    for change in range(10, 100, 5):
        trial.run(words, materials.folder, trial.Kill(signal.SIGKILL, change=change))
        if list(path.glob("unfinished/examples-*.json")):
            return
    raise RuntimeError("No change of files comes after the first examples.")


_WRITERS = {
    "corpus.txt": _write_corpus,
    "documents.jsonl": _write_documents,
    "rows.tsv": _write_tsv,
    "rows.csv": _write_csv,
    "rows.jsonl": _write_jsonl,
    "vocab.txt": _write_word_pieces,
    "pytorch": _write_pytorch,
    "tensorflow_weights": _write_tensorflow_weights,
    "unfinished": _write_unfinished,
}
