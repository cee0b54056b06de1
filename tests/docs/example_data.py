"""Files and objects that the examples of docstrings speak of, as small as they can be.

A file is made in the current folder when the first example speaks of it, an object anew
for each example.
"""

import json
import pathlib
import shutil

import tensorflow as tf

import albert_keras as ak
from albert_keras.pretraining import PretrainingTask
from albert_keras.training import Trainer, TrainerConfig, get_strategy
from tests.snippets import run_command, write_sample_files

NANO = "albert_nano_en"
# A path goes before a name: this one's model is smaller still.
SMALL = "albert_base_v2"
TEXTS, LABELS = ["a charming journey", "It is dull.", "It rains. " * 3], [1, 0, 1]
FILES, OBJECTS = {}, {}


def makes_file(path):
    """Registers a function that makes the file or folder `path`."""
    return lambda function: FILES.setdefault(path, function)


def makes(name):
    """Registers a function that makes the object that examples name so."""
    return lambda function: OBJECTS.setdefault(name, function)


def use(path):
    """Makes a file unless it is there; returns its path."""
    if not pathlib.Path(path).exists():
        FILES[path]()
    return path


def run(*words):
    """Runs a command of this package."""
    run_command(list(map(str, words)))


@makes_file("corpus.txt")
@makes_file("reviews.tsv")
def _sample_files():
    write_sample_files(pathlib.Path())


@makes_file("GLUE/SST-2")
def _glue():
    folder = pathlib.Path("GLUE/SST-2")
    folder.mkdir(parents=True)
    for name in ("train", "dev"):
        rows = [f"{text}\t{label}\n" for text, label in zip(TEXTS, LABELS, strict=True)]
        (folder / f"{name}.tsv").write_text("sentence\tlabel\n" + "".join(rows * 5))


@makes_file("SST-2/dev.tsv")
@makes_file("SST-2/train.tsv")
def _sst2():
    shutil.copytree(use("GLUE/SST-2"), "SST-2")


@makes_file(SMALL)
def _small_model():
    backbone = ak.AlbertBackbone.from_config_preset(
        "albert_test", vocabulary_size=8000, max_sequence_length=128, num_layers=3
    )
    ak.AlbertPretrainer(backbone).save_to_preset(SMALL)
    make("tokenizer").save_to_preset(SMALL)


@makes_file("albert-base-v2")
def _model_of_transformers():
    model = ak.load_checkpoint(use(SMALL), head="pretraining")
    ak.save_checkpoint(model, "albert-base-v2", format="huggingface")


@makes_file("my_run")
def _checkpoint_of_google():
    classifier = ak.AlbertTextClassifier.from_preset(use(SMALL), num_classes=2)
    ak.save_checkpoint(classifier, "my_run", "google")


@makes_file("prepared")
def _prepared():
    words = ("prepare-data", use("corpus.txt"), "--tokenizer", NANO)
    run(*words, "--sequence-length", 32, "--output", "prepared")


@makes_file("held_out")
def _held_out():
    shutil.copytree(use("prepared"), "held_out")


def _pretrain(folder, *options):
    shapes = ("--preset", "albert_test", "--max-sequence-length", 32)
    data = ("--data", use("prepared"), "--tokenizer", NANO, "--num-steps", 2)
    run("pretrain", *data, *shapes, *options, "--batch-size", 4, "--run", folder)


@makes_file("runs/shared")
def _shared():
    _pretrain("runs/shared")


@makes_file("runs/unshared")
def _unshared():
    _pretrain("runs/unshared", "--sharing", "none")


def _finetune(folder, *options):
    words = ("--data", use("GLUE/SST-2"), "--checkpoint", use(SMALL), *options)
    run("finetune", "--task", "sst-2", *words, "--num-epochs", 3, "--run", folder)


@makes_file("runs/sst2")
@makes_file("runs/sst2/model")
def _finetuned():
    _finetune("runs/sst2")


@makes_file("runs/exits")
def _exits():
    _finetune("runs/exits", "--early-exit", "joint")


@makes_file("runs/squad")
@makes_file("runs/squad/model")
def _questions():
    answers = [{"text": "Ann", "answer_start": 18}]
    question = {"id": "1", "question": "Who wrote it?", "answers": answers}
    paragraph = {"context": "It was written by Ann.", "qas": [question]}
    articles = [{"title": "Ann", "paragraphs": [paragraph]}]
    _write_json("train.json", {"version": "1.1", "data": articles})
    words = ("--task", "squad", "--train", "train.json", "--num-epochs", 1)
    run("finetune", *words, "--checkpoint", use(SMALL), "--run", "runs/squad")


@makes_file("runs/conll/model")
def _tagger():
    model = ak.AlbertTokenClassifier.from_preset(use(SMALL), num_classes=3)
    model.save_to_preset("runs/conll/model")


@makes_file("runs/embedder")
def _embedder():
    ak.AlbertTextEmbedder.from_preset(use(SMALL)).save_to_preset("runs/embedder")


@makes_file("runs/mnli")
def _entailment():
    model = ak.AlbertTextClassifier.from_preset(
        use(SMALL), num_classes=2, labels=["entailment", "contradiction"]
    )
    model.save_to_preset("runs/mnli")


def _write_json(path, results):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results))


@makes_file("sst2.tflite")
def _exported():
    ak.export_tflite(make("classifier"), "sst2.tflite")


def make(name):
    """Returns the object that examples call `name`."""
    return OBJECTS[name]()


@makes("classifier")
@makes("model")
def _classifier():
    return ak.AlbertTextClassifier.from_preset(use("runs/sst2"))


@makes("tokenizer")
def _tokenizer():
    return ak.load_tokenizer(NANO)


@makes("backbone")
def _backbone():
    return ak.AlbertBackbone.from_preset(use(SMALL))


@makes("dataset")
def _dataset():
    return tf.data.Dataset.from_tensors((TEXTS, LABELS))


@makes("batches")
def _batches():
    return make("dataset").map(make("classifier").preprocessor)


@makes("pretrainer")
def _pretrainer():
    pretrainer = ak.AlbertPretrainer(make("backbone"))
    pretrainer.compile("sgd", "auto")
    return pretrainer


@makes("trainer")
def _trainer():
    strategy = get_strategy("mirrored")
    return Trainer("trained", TrainerConfig(2, steps_per_evaluation=1), strategy)


OBJECTS |= {
    "task": PretrainingTask,
    "make_dataset": lambda: lambda step: make("validation").repeat().skip(step),
    "validation": lambda: ak.pretraining.pretraining_validation_dataset(
        use("held_out"), 4
    ).take(2),
    "texts": lambda: TEXTS,
    "labels": lambda: LABELS,
    "held_out_texts": lambda: TEXTS * 100,
    "classes": lambda: [0, 1, 1],
    "predicted_classes": lambda: [0, 1, 0],
    "names": lambda: ["negative", "positive"],
    "schedule": lambda: ak.WarmupPolynomialDecay(1e-3, decay_steps=7, warmup_steps=2),
}
