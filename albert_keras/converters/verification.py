"""A converted model against the library that its files are for, on the same input."""

import keras
import numpy as np

from albert_keras.checks import import_optional
from albert_keras.converters import keras_hub
from albert_keras.converters.loading import find_head, load_checkpoint, recognise
from albert_keras.converters.name_table import read_json

# By head: the class of transformers gives these outputs, ours the others.
_OUTPUT_NAMES = {
    None: {
        "last_hidden_state": "sequence_output",
        "pooler_output": "pooled_output",
    },
    "pretraining": {
        "prediction_logits": "mlm_logits",
        "logits": "mlm_logits",
        "sop_logits": "sop_logits",
    },
    "question_answering": {"start_logits": "start_logits", "end_logits": "end_logits"},
}
_FEATURE_NAMES = {
    "token_ids": "input_ids",
    "segment_ids": "token_type_ids",
    "padding_mask": "attention_mask",
}


def output_differences(model, path, seed=0):
    """Runs a model, and what another library loads from a folder, on random input.

    Args:
        model: One of ours.
        path: str or path. The folder of the same model: one of Hugging Face is run by
            transformers, one of keras-hub by keras-hub; what no maintained library
            reads is loaded again by this package.
        seed: int. Of the input.

    Returns:
        Tuple of the name of what ran the other side, and a dict from the name of each
        output to the largest absolute difference.

    Raises:
        ImportError: If the library is absent, with the command that installs it.
        ValueError: If transformers no longer reads the file of weights.

    Example:

    ```python
    model = ak.load_checkpoint("albert-base-v2")
    output_differences(model, "albert-base-v2")  # ("transformers", {...})
    ```
    """
    source, checkpoint = recognise(path)
    head = find_head(path)
    inputs = random_inputs(model, head, seed)
    outputs = _as_dict(model(inputs))
    if source == "huggingface":
        library, expected = "transformers", _run_transformers(checkpoint, head, inputs)
    elif source == "keras_hub":
        library, expected = "keras_hub", _run_keras_hub(checkpoint, head, inputs)
    else:
        library = "albert_keras"
        expected = _as_dict(load_checkpoint(path, head=head)(inputs))
    return library, {
        name: float(np.abs(_array(outputs[name]) - _array(value)).max())
        for name, value in expected.items()
        if name in outputs
    }


def random_inputs(model, head, seed):
    """Returns a batch of random tokens for a model, rows of several lengths."""
    config = getattr(model, "backbone", model).albert_config
    random = np.random.default_rng(seed)
    length = min(config.max_sequence_length, 37)
    shape = (3, 2, length) if head == "multiple_choice" else (3, length)
    lengths = random.integers(2, length + 1, (*shape[:-1], 1))
    features = {
        "token_ids": random.integers(0, config.vocabulary_size, shape, "int32"),
        "segment_ids": random.integers(0, config.num_segments, shape, "int32"),
        "padding_mask": (np.arange(length) < lengths).astype("int32"),
    }
    if head == "pretraining":
        features["mask_positions"] = np.tile(np.arange(length, dtype="int32"), (3, 1))
    return features


def _run_transformers(checkpoint, head, inputs):
    torch = import_optional("torch", "peers")
    transformers = import_optional("transformers", "peers")
    if checkpoint.suffix == ".h5":
        raise ValueError(
            "transformers reads weights of PyTorch alone since its version 5. "
            f"Received: '{checkpoint}'. Verify what it is converted to."
        )
    stated = read_json(checkpoint.with_name("config.json"))
    (architecture,) = stated["architectures"]
    model = (
        getattr(transformers, architecture).from_pretrained(checkpoint.parent).eval()
    )
    features = {
        theirs: torch.tensor(inputs[ours], dtype=torch.long)
        for ours, theirs in _FEATURE_NAMES.items()
    }
    with torch.no_grad():
        outputs = model(**features)
    names = _OUTPUT_NAMES.get(head, {"logits": "logits"})
    return {
        ours: outputs[theirs] for theirs, ours in names.items() if theirs in outputs
    }


def _run_keras_hub(checkpoint, head, inputs):
    if not isinstance(checkpoint, keras.Model):
        options = {} if head is None else {"preprocessor": None}
        checkpoint = keras_hub.MODELS[head].from_preset(str(checkpoint), **options)
    outputs = checkpoint(inputs)
    return {"mlm_logits": outputs} if head == "pretraining" else _as_dict(outputs)


def _as_dict(outputs):
    return outputs if isinstance(outputs, dict) else {"logits": outputs}


def _array(value):
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    return keras.ops.convert_to_numpy(value).astype("float64")
