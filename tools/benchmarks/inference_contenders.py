"""Contenders of `inference.py`, run by `worker_process.serve`.

Each is prepared from the files that the tool wrote, and then predicts all rows of each
case. A worker of torch may run where this package is not installed; therefore each
contender imports what it needs.
"""

import functools
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from tools.benchmarks.worker_process import seconds_of, serve

# Files that the tool writes, and the ones of models by contender.
CASES = "cases.json"
EXPORTED = "saved_model", "saved_model_bfloat16", "litert", "litert_int8"
MODEL_OF = {
    **{name: name for name in EXPORTED},
    **dict.fromkeys(("huggingface", "huggingface_bfloat16"), "huggingface"),
    "onnx_runtime": "huggingface",
}


def timed_cases(work, predict_case):
    """Returns a function that returns the milliseconds of a row in each case.

    Args:
        work: Dict with the `folder` of the tool's files.
        predict_case: Function of a case, a dict: `texts`, their `token_ids` and
            `batch_size`.
    """
    cases = json.loads(pathlib.Path(work["folder"], CASES).read_text("utf-8"))

    def measure():
        return {
            name: 1000
            * seconds_of(functools.partial(predict_case, case), work)
            / len(case["texts"])
            for name, case in cases.items()
        }

    # Every shape once, unmeasured.
    measure()
    return measure


def padded_batches(case, length=None):
    """Yields int32 arrays of ids and masks, `(batch, length)`; default: the longest."""
    rows = case["token_ids"]
    for start in range(0, len(rows), case["batch_size"]):
        batch = rows[start : start + case["batch_size"]]
        width = length or max(map(len, batch))
        token_ids = np.zeros((len(batch), width), "int32")
        for number, row in enumerate(batch):
            token_ids[number, : len(row)] = row
        lengths = np.array([*map(len, batch)])
        yield token_ids, (np.arange(width) < lengths[:, None]).astype("int32")


def exported(name, work):
    """Predicts texts by an exported model, as users do: tokenized, and by length."""
    from albert_keras.export import load_exported

    predictor = load_exported(pathlib.Path(work["folder"], MODEL_OF[name]))
    return timed_cases(
        work, lambda case: predictor.predict(case["texts"], case["batch_size"])
    )


def keras_hub_model(work):
    """Predicts ids by keras-hub's classifier, padded as its preprocessor pads."""
    import keras_hub
    import tensorflow as tf

    names = (
        "vocabulary_size num_layers num_heads embedding_dim hidden_dim intermediate_dim "
        "num_groups num_inner_repetitions dropout max_sequence_length num_segments"
    )
    backbone = keras_hub.models.AlbertBackbone(
        **{name: work["config"][name] for name in names.split()}
    )
    model = keras_hub.models.AlbertTextClassifier(backbone, work["num_classes"])
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


def huggingface(work, bfloat16=False):
    """Predicts ids by transformers, padded to the longest of each batch."""
    import torch

    dtype = torch.bfloat16 if bfloat16 else torch.float32
    model = huggingface_model(work).to(dtype)

    def predict_case(case):
        with torch.inference_mode():
            for batch in padded_batches(case):
                token_ids, mask = map(torch.from_numpy, batch)
                model(
                    token_ids.long(), attention_mask=mask.long()
                ).logits.float().numpy()

    return timed_cases(work, predict_case)


def huggingface_model(work):
    """Returns transformers' classifier with the weights that the tool wrote."""
    import transformers

    return transformers.AutoModelForSequenceClassification.from_pretrained(
        pathlib.Path(work["folder"], MODEL_OF["huggingface"])
    ).eval()


def onnx_runtime(work):
    """Predicts ids by ONNX Runtime, from transformers' model, as `huggingface`."""
    import onnxruntime
    import torch

    model = huggingface_model(work)
    model.config.return_dict = False
    path = pathlib.Path(work["folder"], "model.onnx")
    names = ("input_ids", "attention_mask")
    sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    torch.onnx.export(
        model,
        kwargs={name: torch.ones(2, 7, dtype=torch.long) for name in names},
        f=path,
        dynamo=True,
        dynamic_shapes=dict.fromkeys(names, sizes),
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = work["threads"]
    session = onnxruntime.InferenceSession(path, options)

    def predict_case(case):
        for batch in padded_batches(case):
            arrays = (array.astype("int64") for array in batch)
            session.run(None, dict(zip(names, arrays, strict=True)))

    return timed_cases(work, predict_case)


MEASUREMENTS = {
    "tensorflow": {
        "saved_model": functools.partial(exported, "saved_model"),
        "saved_model_bfloat16": functools.partial(exported, "saved_model_bfloat16"),
        "keras_hub": keras_hub_model,
    },
    "litert": {
        "litert": functools.partial(exported, "litert"),
        "litert_int8": functools.partial(exported, "litert_int8"),
    },
    "torch": {
        "huggingface": huggingface,
        "huggingface_bfloat16": functools.partial(huggingface, bfloat16=True),
    },
    "onnx": {"onnx_runtime": onnx_runtime},
}

NEEDS = {
    "tensorflow": ["tensorflow", "tensorflow_text"],
    "litert": ["ai_edge_litert"],
    "torch": ["torch", "transformers"],
    "onnx": ["torch", "transformers", "onnx", "onnxscript", "onnxruntime"],
}


if __name__ == "__main__":
    serve(MEASUREMENTS, NEEDS)
