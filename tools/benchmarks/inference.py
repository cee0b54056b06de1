#!/usr/bin/env python3
"""Compares the speed of a classifier's or embedder's exports with other libraries.

A case is a batch size and the rows: texts of a file, of which rows of all lengths are
drawn, or rows that are as long as the model takes. `saved_model...`, `litert...` and
`sentence_transformers` take strings, and put texts of similar length together; the others
take ids, in the order of the file. `huggingface` pads to the longest row of a batch,
`keras_hub` to the model's number of tokens. From a run with exits, the exported models
leave by its calibrated rule, or by the rule from `--min-depth` on; `..._full_depth` and
the other libraries apply all layers.

examples:
  tools/benchmarks/inference.py runs/sst2 --texts SST-2/dev.tsv --text-column sentence
  tools/benchmarks/inference.py runs/exits --texts SST-2/dev.tsv \
      --only saved_model_full_depth saved_model
  albert-keras convert albert_mini_en --head text_embedding --output embedder
  tools/benchmarks/inference.py embedder --texts paragraphs.txt --threads 2
"""

import dataclasses
import functools
import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.sample import REVIEWS_TEST
from tools.benchmarks import harness
from tools.benchmarks.harness import Contender, seconds_of

CASES = "cases.json"
# Contenders of other libraries, and the format of their weights.
CLASSIFIERS = {
    **dict.fromkeys(("huggingface", "huggingface_bfloat16"), "huggingface"),
    "keras_hub": "keras_hub",
}
EMBEDDERS = {"sentence_transformers": "sentence-transformers"}
# The exported models, and the options of their exporters.
EXPORTED = {
    "saved_model": {},
    "saved_model_bfloat16": {"quantization": "bfloat16"},
    "saved_model_full_depth": {},
    "litert": {},
    "litert_int8": {"quantization": "int8"},
    "litert_full_depth": {},
}


def main(argv=None):
    """Measures, and prints the results."""
    arguments = parse(argv)
    with tempfile.TemporaryDirectory() as folder:
        work = prepare(arguments, pathlib.Path(folder))
        harness.compare(__file__, CONTENDERS, arguments, work, "ms a row")


def parse(argv):
    """Returns the arguments."""
    parser = harness.make_parser(__doc__, CONTENDERS)
    add = parser.add_argument
    add("run", help="classifier or embedder")
    add("--texts", default=str(REVIEWS_TEST), help="table, or .txt with a text a line")
    add("--text-column", default="text")
    add("--rows", type=int, default=32, help="rows of a case")
    add("--batch-sizes", type=int, nargs="+", default=[1, 32])
    add("--min-depth", type=int, help="first exit (default: the rule's)")
    return parser.parse_args(argv)


def prepare(arguments, folder):
    """Writes the contenders' models and the cases; returns the contenders' work."""
    from albert_keras.compression import ExitRule
    from albert_keras.converters import save_checkpoint
    from albert_keras.export import export_saved_model, export_tflite
    from albert_keras.models import AlbertTextEmbedder
    from albert_keras.runs import load_run

    model = load_run(arguments.run).model
    has_exits = model.export_spec().has_exits
    formats = EMBEDDERS if isinstance(model, AlbertTextEmbedder) else CLASSIFIERS
    arguments.only = arguments.only or [
        *formats,
        *(name for name in EXPORTED if has_exits or not name.endswith("full_depth")),
    ]
    for name in arguments.only:
        if name in EXPORTED:
            export = export_tflite if "litert" in name else export_saved_model
            options = dict(EXPORTED[name])
            if has_exits and name.endswith("full_depth"):
                depth = model.backbone.num_layers
                options["exit_rule"] = ExitRule("fixed_depth", min_depth=depth)
            elif has_exits and arguments.min_depth:
                rule = ExitRule(**model.exit_rule)
                rule = dataclasses.replace(rule, min_depth=arguments.min_depth)
                options["exit_rule"] = rule
            export(model, folder / name, **options)
    whole = model.to_classifier() if has_exits else model
    for format in set(formats.values()):
        save_checkpoint(whole, folder / format, format=format)
    cases = make_cases(model.preprocessor, arguments)
    (folder / CASES).write_text(json.dumps(cases), "utf-8")
    length = model.preprocessor.sequence_length
    return {"folder": str(folder), "sequence_length": length}


def make_cases(preprocessor, arguments):
    """Returns a dict of cases: `texts`, their `token_ids`, and `batch_size`."""
    from albert_keras.preprocessors.texts import pack_texts
    from albert_keras.tasks import TextClassificationTask
    from albert_keras.text.text_files import read_lines

    length = preprocessor.sequence_length
    pack = functools.partial(
        pack_texts, preprocessor.tokenizer.encoder, sequence_length=length
    )
    if arguments.texts.endswith(".txt"):
        texts = [*filter(None, map(str.strip, read_lines(arguments.texts)))]
    else:
        task = TextClassificationTask().with_columns(text=arguments.text_column)
        texts = task.read(arguments.texts, needs_labels=False).texts
    # Evenly from the shortest to the longest, in a random order.
    in_order = np.argsort(pack(texts).lengths, kind="stable")
    drawn = in_order[np.linspace(0, len(texts) - 1, arguments.rows).astype(int)]
    drawn = np.random.default_rng(0).permutation(drawn)
    # A word has at least one token.
    words = " ".join(texts).split() * (1 + length)
    starts = range(arguments.rows)
    rows = {
        "texts": [texts[row] for row in drawn],
        str(length): [" ".join(words[start : start + length]) for start in starts],
    }
    cases = {}
    for name, texts in rows.items():
        examples = pack(texts)
        ids = np.split(examples.token_arrays["token_ids"], examples.offsets[1:-1])
        case = {"texts": texts, "token_ids": [row.tolist() for row in ids]}
        for batch_size in arguments.batch_sizes:
            cases[f"{batch_size} x {name}"] = {**case, "batch_size": batch_size}
    return cases


def timed_cases(work, predict_case):
    """Returns a function that returns the seconds of a row in each case."""
    cases = json.loads(pathlib.Path(work["folder"], CASES).read_text("utf-8"))

    def measure():
        return {
            name: seconds_of(functools.partial(predict_case, case), work)
            / len(case["texts"])
            for name, case in cases.items()
        }

    # Each shape once, unmeasured.
    measure()
    return measure


def padded_batches(case, length=None):
    """Yields int32 arrays of ids and masks, `(batch, length)`; default: the longest."""
    rows = case["token_ids"]
    for start in range(0, len(rows), case["batch_size"]):
        batch = rows[start : start + case["batch_size"]]
        lengths = np.array([*map(len, batch)])
        mask = np.arange(length or lengths.max()) < lengths[:, None]
        token_ids = np.zeros(mask.shape, "int32")
        token_ids[mask] = np.concatenate(batch)
        yield token_ids, mask.astype("int32")


# === Contenders, each prepared from the files in the folder of the work ===


def exported(work, name):
    """Predicts texts by an exported model, as users do: tokenized, and by length."""
    from albert_keras.export import load_exported

    predictor = load_exported(pathlib.Path(work["folder"], name))

    def predict_case(case):
        predictor.predict(case["texts"], case["batch_size"])

    return timed_cases(work, predict_case)


def keras_hub_classifier(work):
    """Predicts ids by keras-hub's classifier, padded as its preprocessor pads."""
    import keras_hub
    import tensorflow as tf

    path = pathlib.Path(work["folder"], "keras_hub")
    model = keras_hub.models.AlbertTextClassifier.from_preset(
        str(path), preprocessor=None
    )
    forward = tf.function(functools.partial(model, training=False), autograph=False)

    def predict_case(case):
        for token_ids, mask in padded_batches(case, work["sequence_length"]):
            features = {
                "token_ids": tf.constant(token_ids),
                "segment_ids": tf.zeros_like(token_ids),
                "padding_mask": tf.constant(mask),
            }
            forward(features).numpy()

    return timed_cases(work, predict_case)


def huggingface(work, dtype="float32"):
    """Predicts ids by transformers, padded to the longest of each batch."""
    import torch
    import transformers

    loader = transformers.AutoModelForSequenceClassification
    model = loader.from_pretrained(pathlib.Path(work["folder"], "huggingface"))
    model = model.eval().to(getattr(torch, dtype))

    def predict_case(case):
        with torch.inference_mode():
            for batch in padded_batches(case):
                token_ids, mask = (torch.from_numpy(x).long() for x in batch)
                model(token_ids, attention_mask=mask).logits.float().numpy()

    return timed_cases(work, predict_case)


def sentence_transformer(work):
    """Encodes texts by sentence-transformers, as users do: tokenized, and by length."""
    from sentence_transformers import SentenceTransformer

    path = pathlib.Path(work["folder"], EMBEDDERS["sentence_transformers"])
    model = SentenceTransformer(str(path), device="cpu")

    def predict_case(case):
        options = {"batch_size": case["batch_size"], "show_progress_bar": False}
        model.encode(case["texts"], **options)

    return timed_cases(work, predict_case)


TORCH = ("torch", "transformers")
CONTENDERS = {
    "huggingface": Contender(huggingface, TORCH),
    "huggingface_bfloat16": Contender(
        functools.partial(huggingface, dtype="bfloat16"), TORCH
    ),
    "sentence_transformers": Contender(
        sentence_transformer, (*TORCH, "sentence_transformers")
    ),
    "keras_hub": Contender(keras_hub_classifier, ("keras_hub", "tensorflow")),
    **{
        name: Contender(
            functools.partial(exported, name=name),
            ("ai_edge_litert",) if "litert" in name else ("tensorflow_text",),
        )
        for name in EXPORTED
    },
}


if __name__ == "__main__":
    main()
