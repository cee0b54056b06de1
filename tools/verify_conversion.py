#!/usr/bin/env python3
"""Compares a model with the library that reads its files.

Runs both on random input, and prints the largest absolute difference of each output.
Ends with status 1 where one is above 1e-3: rounding stays far below, and a wrong weight
far above.

examples:
  tools/verify_conversion.py hf://albert/albert-base-v2
  albert-keras convert albert_base_v2 --to huggingface --output out
  tools/verify_conversion.py out
"""

import dataclasses
import json
import pathlib
import sys
from unittest import mock

import keras
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from albert_keras.checks import import_optional
from albert_keras.converters import find_checkpoint, keras_hub
from albert_keras.converters.heads import head_of
from albert_keras.converters.huggingface import architecture
from albert_keras.converters.loading import load_checkpoint
from albert_keras.export.huggingface_names import NAMES
from albert_keras.presets.hub import local_files
from tools.parser import new_parser

TOLERANCE = 1e-3


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Largest absolute differences between two models on the same input, by output.

    `library` ran the other model. `known` has the sizes of documented differences
    between the libraries, which are not part of `differences`.
    """

    library: str
    differences: dict
    known: dict = dataclasses.field(default_factory=dict)


def compare_outputs(model, path, seed=0):
    """Runs a model, and the model that another library loads, on random input.

    keras-hub's masked-word head has another layer norm epsilon than the original. Its
    logits are compared with those of our head with that epsilon; `known` holds the
    effect of the epsilon alone.

    Args:
        model: One of ours, whose head must be in the files; `model.backbone` otherwise.
        path: str or path. The folder of the same model, which transformers or keras-hub
            loads.
        seed: int. Seed of the input.

    Returns:
        `Comparison`.

    Example:

    ```python
    model = ak.load_checkpoint("albert-base-v2")
    compare_outputs(model, "albert-base-v2").differences  # {"mlm_logits": 2e-6, ...}
    ```
    """
    found, head = find_checkpoint(path), head_of(model)
    inputs, known = random_inputs(model, seed), {}
    outputs = _as_dict(model(inputs))
    if found.source == "keras_hub":
        library, expected = "keras_hub", _run_keras_hub(found.files, head, inputs)
        if head == "pretraining":
            epsilon = keras_hub.MASKED_WORDS_EPSILON
            before = outputs["mlm_logits"]
            with mock.patch.object(model.mlm_head.normalization, "epsilon", epsilon):
                outputs = _as_dict(model(inputs))
            name = f"layer norm epsilon of {epsilon} in keras-hub's masked-word head"
            known[name] = _difference(before, outputs["mlm_logits"])
    else:
        library = "transformers"
        expected = _run_transformers(found.files, model, inputs, outputs)
    differences = {
        name: _difference(outputs[name], value) for name, value in expected.items()
    }
    return Comparison(library, differences, known)


def random_inputs(model, seed):
    """Returns a batch of random tokens for a model, with rows of several lengths."""
    config = getattr(model, "backbone", model).albert_config
    random = np.random.default_rng(seed)
    length = min(config.max_sequence_length, 37)
    # Two choices where there is an axis for them.
    rank = len(model.input["token_ids"].shape)
    shape = (3, *[2] * (rank - 2), length)
    lengths = random.integers(2, length + 1, (*shape[:-1], 1))
    padding_mask = (np.arange(length) < lengths).astype("int32")
    features = {
        "token_ids": random.integers(0, config.vocabulary_size, shape, "int32"),
        "segment_ids": random.integers(0, config.num_segments, shape, "int32"),
        "padding_mask": padding_mask,
        "mask_positions": np.tile(np.arange(length, dtype="int32"), (3, 1)),
        "answer_mask": padding_mask,
        "start_positions": lengths[..., 0].astype("int32") // 2,
    }
    return {name: features[name] for name in model.input}


def _run_transformers(checkpoint, model, inputs, outputs):
    torch = import_optional("torch", "peers")
    transformers = import_optional("transformers", "peers")
    # Our model decides on the class, whatever the files state.
    name = architecture(model, head_of(model))
    # Its bars would be between the lines of a command.
    transformers.utils.logging.disable_progress_bar()
    theirs = getattr(transformers, name).from_pretrained(checkpoint.parent).eval()
    features = {
        NAMES[name]: torch.tensor(values, dtype=torch.long)
        for name, values in inputs.items()
        if name in NAMES
    }
    with torch.no_grad():
        received = theirs(**features)
    if model.export_spec().output_name == "probabilities":
        # transformers' classifiers give logits, whatever the activation of ours.
        received["logits"] = model.activation(received["logits"])
    # `AlbertForPreTraining` alone has this name.
    if "prediction_logits" in received:
        received["mlm_logits"] = received["prediction_logits"]
    return {
        ours: keras.ops.convert_to_numpy(received[theirs])
        for ours in outputs
        for theirs in (ours, NAMES.get(ours))
        if theirs in received
    }


def _run_keras_hub(checkpoint, head, inputs):
    options = {} if head is None else {"preprocessor": None}
    model = keras_hub.MODEL_CLASSES[head].from_preset(str(checkpoint), **options)
    outputs = model(inputs)
    return {"mlm_logits": outputs} if head == "pretraining" else _as_dict(outputs)


def main(argv=None):
    """Compares a checkpoint's model, and returns the exit status."""
    parser = new_parser(__doc__)
    parser.add_argument("checkpoint", help="folder, prefix, name or address")
    arguments = parser.parse_args(argv)
    path = local_files(arguments.checkpoint)
    comparison = compare_outputs(load_checkpoint(path), path)
    print(json.dumps(dataclasses.asdict(comparison), indent=2))
    # NaN is not below the tolerance either.
    fits = all(value < TOLERANCE for value in comparison.differences.values())
    return 0 if fits else 1


def _as_dict(outputs):
    return dict(outputs) if isinstance(outputs, dict) else {"logits": outputs}


def _difference(*values):
    first, second = (keras.ops.convert_to_numpy(v).astype("float64") for v in values)
    return float(np.abs(first - second).max())


if __name__ == "__main__":
    sys.exit(main())
