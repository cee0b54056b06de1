"""Run all steps on the embedded sample: offline, in a few minutes on two cores.

Trains a vocabulary, prepares data, pretrains a model, fine-tunes a classifier, and
evaluates model and classifier on held-out text. A second, better classifier starts from
the pretrained model in the package. It is exported as SavedModel and int8 TFLite, and
both files predict. Each step is a command, which is printed before it runs.

example:
  albert-keras quickstart --output runs/quickstart
"""

import contextlib
import dataclasses
import io
import json
import pathlib
import shlex

from albert_keras import cli, sample
from albert_keras.cli.options import add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.options import SEEDS, STEPS, Options, Range, option
from albert_keras.pretraining import RECIPES
from albert_keras.runs.reporting import note
from albert_keras.system.files import LOCK, claimed_folder

SHIPPED = "albert_nano_en"
TEXTS = ["The soup was warm and very good.", "The film was long and dull."]

USAGE = "[options]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class QuickstartOptions(Options):
    """Options of the quick start."""

    output: str = option("folder to write", "runs/quickstart")
    pretraining_steps: int = option(
        "steps of pretraining", RECIPES["quickstart"].num_steps, STEPS
    )
    num_epochs: int = option(
        "passes over the rows, for both classifiers", 20, Range(1, 1000)
    )
    seed: int = option("seed of all steps", 0, SEEDS)


def add_arguments(parser):
    add_options(parser, QuickstartOptions)


def run(arguments):
    options = config_from(arguments, QuickstartOptions)
    output = pathlib.Path(options.output)
    with claimed_folder(output):
        if {*output.iterdir()} - {output / LOCK}:
            raise FileExistsError(
                f"The output folder must be new or empty. Received: '{output}'. "
                "Delete it, or name another by --output."
            )
        print_results("quick start", run_all(output, options), arguments.json)


def run_all(output, options):
    """Runs all commands, each in its own folder of the output; returns the results."""
    seed = ["--seed", options.seed]
    train_text, held_out_text = split_corpus(output)
    vocabulary = output / "vocabulary.model"
    train_data, held_out_data = output / "tokens", output / "held_out"
    pretraining, reviews = output / "pretraining", output / "reviews"
    shipped_reviews = output / f"reviews_{SHIPPED}"
    recipe = RECIPES["quickstart"].data_options
    sequence = ["--sequence-length", recipe["sequence_length"]]
    sequence += ["--short-sequence-prob", recipe["short_sequence_prob"]]

    size = ["--vocabulary-size", 800]
    call("train-vocabulary", train_text, *size, "--output", vocabulary)
    prepare = ["prepare-data", "--tokenizer", vocabulary, *sequence, *seed]
    prepare += ["--validation-split", 0]
    call(*prepare, train_text, "--output", train_data)
    # Finished examples of all passes, because those of one would have a wide margin.
    records = ["--format", "tfrecord", "--num-shards", 1]
    call(*prepare, held_out_text, "--output", held_out_data, *records)
    pretrained = call(
        *("pretrain", "--data", train_data, "--validation-data", held_out_data),
        *("--tokenizer", vocabulary, "--recipe", "quickstart", *seed),
        *("--run", pretraining, "--num-steps", options.pretraining_steps),
        *("--steps-per-evaluation", max(1, options.pretraining_steps // 4)),
    )
    finetune = ["finetune", "--task", "text-classification"]
    finetune += ["--train", sample.REVIEWS_TRAIN, "--validation", sample.REVIEWS_TEST]
    finetune += ["--learning-rate", 1e-3, "--sequence-length", 64]
    finetune += ["--num-epochs", options.num_epochs, "--steps-per-evaluation", 33]
    finetuned, finetuned_shipped = (
        call(*finetune, *seed, "--checkpoint", checkpoint, "--run", run)
        for checkpoint, run in ((pretraining, reviews), (SHIPPED, shipped_reviews))
    )
    saved_model, tflite = output / "saved_model", output / "reviews_int8.tflite"
    export = ["export", shipped_reviews, "--format"]
    call(*export, "saved_model", "--output", saved_model)
    call(*export, "tflite", "--quantization", "int8", "--output", tflite)
    predictions = {
        name: {
            p["text"]: p["label"] for p in call("predict", path, *TEXTS)["predictions"]
        }
        for name, path in (("saved_model", saved_model), ("tflite_int8", tflite))
    }
    names = ("mlm_loss", "sop_accuracy", "sop_accuracy_95_margin")
    # They exist if matplotlib is installed.
    pictures = sorted(output.glob("*/*.png"))
    return {
        **{name: pretrained[name] for name in names},
        "classifier_accuracy": finetuned["accuracy"],
        f"classifier_accuracy_from_{SHIPPED}": finetuned_shipped["accuracy"],
        "classifier_accuracy_of_majority": finetuned["majority_accuracy"],
        "saved_model": str(saved_model),
        "tflite": str(tflite),
        "predictions": predictions,
        "pictures": {f"{path.parent.name}/{path.stem}": str(path) for path in pictures},
    }


def split_corpus(output):
    """Writes nine tenths and a tenth of the sample's documents; returns the paths."""
    documents = sample.CORPUS.read_text("utf-8").strip().split("\n\n")
    paths = output / "train.txt", output / "held_out.txt"
    held_out = documents[::10]
    train = [document for document in documents if document not in held_out]
    for path, chosen in zip(paths, (train, held_out), strict=True):
        path.write_text("\n\n".join(chosen) + "\n", encoding="utf-8")
    return paths


def call(*words):
    """Runs a command and returns its results."""
    words = [str(word) for word in words]
    note(f"\n$ albert-keras {shlex.join(words)}")
    results = io.StringIO()
    with contextlib.redirect_stdout(results):
        arguments = cli.parse([*words, "--json"])
        arguments.run_command(arguments)
    return json.loads(results.getvalue())
