#!/usr/bin/env python3
"""Exports every head in every format and precision, and compares the answers.

Prints a table in Markdown with a row for each file: whether it can be written and read,
the largest absolute difference of a number in its answers from Keras', how many answers
have another text or label, bytes, and milliseconds of a row of 128 tokens and of a
sentence of SST-2's lengths, both given as text, one at a time. Heads but that of
pretraining have random weights.

example:
  tools/export_matrix.py albert_nano_en --texts SST-2/dev.tsv --json matrix.json
"""

import argparse
import csv
import json
import pathlib
import sys
import tempfile
import time

import keras
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import albert_keras as ak
from albert_keras import models, preprocessors
from albert_keras.export import EXPORTERS, load_exported
from albert_keras.runs.inference import LoadedModel
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.prediction import task_of

LENGTH = 128
# Format, inputs and quantization of each file.
FILES = [
    ("saved_model", "text", None),
    ("saved_model", "text", "bfloat16"),
    ("tflite", "ids", None),
    ("tflite", "ids", "float16"),
    ("tflite", "ids", "int8"),
    ("tflite", "text", None),
    ("tflite", "text", "float16"),
    ("tflite", "text", "int8"),
    ("onnx", "ids", None),
]
# Class of the model, and its arguments.
HEADS = {
    "classification": ("AlbertTextClassifier", {"num_classes": 3}),
    "regression": ("AlbertTextClassifier", {"num_classes": 1}),
    "tagging": ("AlbertTokenClassifier", {"num_classes": 5}),
    "multiple choice": ("AlbertMultipleChoice", {}),
    "questions": ("AlbertQuestionAnswerer", {}),
    "questions, joint": ("AlbertJointQuestionAnswerer", {}),
    "masked words": ("AlbertMaskedLM", {}),
    "embeddings": (None, {}),
}


def main(argv=None):
    """Prints the table, and writes it as JSON."""
    arguments = parse(argv)
    with open(arguments.texts, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = [row[arguments.text_column] for row in rows][: arguments.num_texts]
    results = []
    for head in arguments.heads:
        keras.utils.set_random_seed(5)
        model, answer = make_model(head, arguments.checkpoint)
        samples = [sample_of(head, text) for text in texts]
        full = sample_of(head, full_text(model, texts))
        expected = answer([*samples, full])
        for format, inputs, quantization in FILES:
            result = {"head": head, "format": format, "inputs": inputs}
            result["precision"] = quantization or "float32"
            try:
                result |= measure(
                    model, format, inputs, quantization, [*samples, full], expected
                )
            except ValueError as error:
                result["refused"] = str(error)
            results.append(result)
            print(json.dumps(result), file=sys.stderr)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n")
    print("\n".join(table(results)))


def parse(argv):
    """Returns the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", help="preset with a tokenizer, or its name")
    parser.add_argument("--texts", required=True, help="TSV file")
    parser.add_argument("--text-column", default="sentence")
    parser.add_argument("--num-texts", type=int, default=30)
    parser.add_argument("--heads", nargs="+", choices=HEADS, default=[*HEADS])
    parser.add_argument("--json", help="file to write (default: none)")
    return parser.parse_args(argv)


def make_model(head, checkpoint):
    """Returns a model with a preprocessor, and the function of its answers."""
    class_name, options = HEADS[head]
    tokenizer = ak.load_tokenizer(checkpoint)
    if class_name == "AlbertMaskedLM":
        model = models.AlbertMaskedLM.from_preset(checkpoint)
        return model, LoadedModel(MaskedWordsTask(tokenizer), model).predict
    backbone = ak.load_checkpoint(checkpoint, head=None)
    if class_name is None:
        backbone.preprocessor = preprocessors.AlbertTextClassifierPreprocessor(
            tokenizer, sequence_length=LENGTH
        )
        return backbone, lambda texts: embed(backbone, texts)
    preprocessor = getattr(models, class_name).preprocessor_cls(
        tokenizer, sequence_length=LENGTH
    )
    options = {**options, "preprocessor": preprocessor}
    model = getattr(models, class_name)(backbone, **options)
    return model, LoadedModel(task_of(model), model).predict


def embed(backbone, texts):
    """Returns the pooled outputs of texts, as a list of dicts."""
    pooled = backbone(backbone.preprocessor(texts))["pooled_output"]
    return [{"pooled_output": row} for row in np.asarray(pooled).tolist()]


def sample_of(head, text):
    """Returns a sample of a head that is made of a text."""
    words = text.split()
    return {
        "multiple choice": (text, "it was _", [*words[:1], "good", "bad", "a storm"]),
        "questions": ("what is it?", text),
        "questions, joint": ("what is it?", text),
        "masked words": " ".join(["[MASK]", *words[1:]]),
    }.get(head, text)


def full_text(model, texts):
    """Returns a text of as many whole words as a row of `LENGTH` tokens has."""
    words = " ".join(texts).split()[:LENGTH]
    encode = model.preprocessor.tokenizer.encoder.encode_batch
    # Room for a question or a choice.
    while len(encode([" ".join(words)])[0]) > LENGTH - 12:
        words.pop()
    return " ".join(words)


def measure(model, format, inputs, quantization, samples, expected):
    """Returns the figures of one file."""
    exporter = EXPORTERS[format]
    options = {"quantization": quantization} if quantization else {}
    if inputs == "text":
        options["tokenizer"] = model.preprocessor.tokenizer
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model")
        exported = exporter.write(model, path, **options)
        predictor = load_exported(path)
        received = as_rows(predictor.predict(samples))
        seconds = []
        for sample in samples:
            start = time.perf_counter()
            predictor.predict([sample])
            seconds.append(time.perf_counter() - start)
        full = []
        for _ in range(5):
            start = time.perf_counter()
            predictor.predict(samples[-1:])
            full.append(time.perf_counter() - start)
    differences = [compare(*pair) for pair in zip(expected, received, strict=True)]
    return {
        "max_difference": max(difference for difference, _ in differences),
        "changed": sum(changed for _, changed in differences),
        "samples": len(samples),
        "bytes": exported.num_bytes,
        "ms_full": 1000 * float(np.median(full)),
        "ms_sentence": 1000 * float(np.mean(seconds[:-1])),
    }


def as_rows(answers):
    """Returns a list of dicts, of a dict of arrays too."""
    if isinstance(answers, list):
        return answers
    columns = {name: array.tolist() for name, array in answers.items()}
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


def compare(expected, received):
    """Returns the largest difference of numbers, and whether a text or place differs."""
    if isinstance(expected, float):
        return abs(expected - received), False
    if isinstance(expected, dict) and isinstance(received, list):
        # Probabilities by label.
        pairs = list(zip(expected.values(), received, strict=True))
    elif isinstance(expected, dict):
        names = expected.keys() & received.keys()
        pairs = [(expected[name], received[name]) for name in names]
    elif isinstance(expected, (list, tuple)):
        if len(expected) != len(received):
            return 0.0, True
        pairs = list(zip(expected, received, strict=True))
    else:
        return 0.0, expected != received
    found = [compare(*pair) for pair in pairs] or [(0.0, False)]
    return max(one for one, _ in found), any(changed for _, changed in found)


def table(results):
    """Yields the lines of the table."""
    yield "| head | format | precision | difference | changed | MB | 128 tokens | SST-2 |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in results:
        name = (
            f"| {row['head']} | {row['format']}, {row['inputs']} | {row['precision']}"
        )
        if "refused" in row:
            yield f"{name} | refused | | | | |"
            continue
        changed = f"{row['changed']} of {row['samples']}"
        yield (
            f"{name} | {row['max_difference']:.1e} | {changed} | "
            f"{row['bytes'] / 1e6:.1f} | {row['ms_full']:.1f} ms | "
            f"{row['ms_sentence']:.1f} ms |"
        )


if __name__ == "__main__":
    main()
