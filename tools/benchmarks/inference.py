#!/usr/bin/env python3
"""Compares the speed of a text classifier's exports with other libraries.

One process per framework stays alive. In every round each contender predicts the same
rows while the others wait, so that a busy machine slows all of them. Ratios are computed
within a round; the medians over the rounds are printed, in milliseconds a row.

A case is a batch size and the rows: texts of a file, of which rows of all lengths are
drawn, or rows that are as long as the model takes. `saved_model...` and `litert...` take
strings, and put texts of similar length together; the others take ids, in the order of
the file. `huggingface` and `onnx_runtime` pad to the longest row of a batch, `keras_hub`
to the model's number of tokens. Of a run with exits, ours leave by its calibrated rule,
and the others go to full depth.

examples:
  tools/benchmarks/inference.py --texts SST-2/dev.tsv --text-column sentence --json
  tools/benchmarks/inference.py runs/sst2 --texts SST-2/dev.tsv --batch-sizes 1
"""

import argparse
import functools
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import numpy as np

from albert_keras.config import PRESETS
from albert_keras.sample import REVIEWS_TEST
from tools.benchmarks import inference_contenders
from tools.benchmarks.inference_contenders import CASES, MODEL_OF
from tools.benchmarks.interleaving import measure_in_turn, medians
from tools.benchmarks.workers import Workers, add_options, framework_of

FRAMEWORKS = framework_of(inference_contenders)
PEERS = ("keras_hub", "huggingface", "huggingface_bfloat16", "onnx_runtime")
# Files of fewer bits are compared with those of float32 too.
IN_FLOAT32 = {"saved_model_bfloat16": "saved_model", "litert_int8": "litert"}


def main(argv=None):
    """Measures, and prints the results."""
    arguments = parse(argv)
    names = [name for name in FRAMEWORKS if name in (arguments.only or FRAMEWORKS)]
    with tempfile.TemporaryDirectory() as folder:
        work = prepare(arguments, folder, names)
        with Workers(inference_contenders, work, arguments.torch_python) as workers:
            # The first, unmeasured run prepares all contenders, and drops missing ones.
            names = [name for name in names if workers.measure(name) is not None]
            measurements = {n: functools.partial(workers.measure, n) for n in names}
            rounds = []
            for results in measure_in_turn(measurements, arguments.rounds):
                rounds.append(results)
                print(f"round {len(rounds)} of {arguments.rounds}", file=sys.stderr)
    results = summarize(rounds)
    if arguments.json:
        print(json.dumps(results))
    else:
        print_results(results)


def parse(argv=None):
    """Returns the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_case_options(parser)
    parser.add_argument("--threads", type=int, default=1, help="processor cores used")
    add_options(parser, FRAMEWORKS)
    return parser.parse_args(argv)


def add_case_options(parser):
    """Adds the model, the texts, the batches and the rounds to a parser."""
    parser.add_argument(
        "run", nargs="?", help="run of a text classifier (default: random weights)"
    )
    parser.add_argument(
        "--preset",
        choices=PRESETS,
        default="albert_base_v2",
        help="size of a model of random weights",
    )
    parser.add_argument(
        "--texts", default=REVIEWS_TEST, help="table of texts (default: a sample)"
    )
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--rows", type=int, default=32, help="rows of a case")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--rounds", type=int, default=5)


def prepare(arguments, folder, names):
    """Writes the contenders' models, and the cases; returns the work of the workers."""
    from albert_keras.converters import save_checkpoint
    from albert_keras.export import export_saved_model, export_tflite

    writers = {
        "saved_model": export_saved_model,
        "saved_model_bfloat16": functools.partial(
            export_saved_model, quantization="bfloat16"
        ),
        "litert": export_tflite,
        "litert_int8": functools.partial(export_tflite, quantization="int8"),
    }
    model, folder = load_model(arguments), pathlib.Path(folder)
    files = {MODEL_OF[name] for name in names if name in MODEL_OF}
    for file in sorted(files & writers.keys()):
        writers[file](model, folder / file)
    if "huggingface" in files:
        whole = model.to_classifier() if hasattr(model, "exit_logits") else model
        save_checkpoint(whole, folder / "huggingface", format="huggingface")
    cases = make_cases(model.preprocessor, arguments)
    (folder / CASES).write_text(json.dumps(cases), "utf-8")
    return {
        "folder": str(folder),
        "config": model.backbone.albert_config.to_dict(),
        "num_classes": model.num_classes,
        "sequence_length": model.preprocessor.sequence_length,
        "threads": arguments.threads,
        "clock": "process_time" if arguments.processor_time else "perf_counter",
    }


def load_model(arguments):
    """Returns the classifier of a run, or one of random weights, with a preprocessor."""
    from albert_keras.models import AlbertBackbone, AlbertTextClassifier
    from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
    from albert_keras.runs import load_run
    from albert_keras.tokenizers import load_tokenizer

    if arguments.run is not None:
        return load_run(arguments.run).model
    tokenizer = load_tokenizer("albert_nano_en")
    backbone = AlbertBackbone.from_config_preset(
        arguments.preset, vocabulary_size=tokenizer.vocabulary_size()
    )
    length = min(128, backbone.max_sequence_length)
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, sequence_length=length)
    return AlbertTextClassifier(backbone, 2, preprocessor)


def make_cases(preprocessor, arguments):
    """Returns a dict of cases: `texts`, their `token_ids`, and `batch_size`."""
    from albert_keras.preprocessors.texts import pack_texts
    from albert_keras.tasks import TextClassificationTask

    length = preprocessor.sequence_length
    encoder = preprocessor.tokenizer.encoder
    task = TextClassificationTask().with_columns(text=arguments.text_column)
    texts = task.read(arguments.texts, needs_labels=False).texts

    def packed(texts):
        return pack_texts(encoder, texts, sequence_length=length)

    # Evenly from the shortest to the longest, in a random order.
    in_order = np.argsort(packed(texts).lengths, kind="stable")
    drawn = in_order[np.linspace(0, len(texts) - 1, arguments.rows).astype(int)]
    drawn = np.random.default_rng(0).permutation(drawn)
    # A word has a token at least.
    words = " ".join(texts).split() * (1 + length)
    rows = {
        "texts": [texts[row] for row in drawn],
        str(length): [
            " ".join(words[start : start + length]) for start in range(arguments.rows)
        ],
    }
    cases = {}
    for name, texts in rows.items():
        examples = packed(texts)
        ids = np.split(examples.token_arrays["token_ids"], examples.offsets[1:-1])
        case = {"texts": texts, "token_ids": [row.tolist() for row in ids]}
        for batch_size in arguments.batch_sizes:
            cases[f"{batch_size} x {name}"] = {**case, "batch_size": batch_size}
    return cases


def summarize(rounds):
    """Returns the medians over the rounds of milliseconds a row, and of their ratios."""
    names, cases = list(rounds[0]), list(next(iter(rounds[0].values()), []))
    ratios = [
        (name, peer)
        for name in names
        for peer in names
        if (name not in PEERS and peer in PEERS) or IN_FLOAT32.get(name) == peer
    ]
    return {
        "milliseconds_of_a_row": {
            case: medians([{name: r[name][case] for name in names} for r in rounds])
            for case in cases
        },
        "speed_ratio": {
            case: medians(
                [
                    {f"{n}/{p}": r[p][case] / r[n][case] for n, p in ratios}
                    for r in rounds
                ]
            )
            for case in cases
        },
    }


def print_results(results):
    """Prints a line for each number."""
    for title, cases in results.items():
        print(title.replace("_", " "))
        for case, numbers in cases.items():
            for name, number in numbers.items():
                print(f"  {case:10} {name:36} {number:10.3f}")


if __name__ == "__main__":
    main()
