"""A converted model against the library that its files are for, on the same input."""

import keras
import numpy as np

from albert_keras.checks import import_optional
from albert_keras.converters import keras_hub
from albert_keras.converters.huggingface import architecture
from albert_keras.converters.loading import load_checkpoint
from albert_keras.converters.recognition import head_of, recognise

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
        model: One of ours, whose head must be in the files; `model.backbone` otherwise.
        path: str or path. The folder of the same model: one of Hugging Face is run by
            transformers, one of keras-hub by keras-hub; what no maintained library
            reads is loaded again by this package.
        seed: int. Of the input.

    Returns:
        Tuple of the name of what ran the other side, and a dict from the name of each
        output to the largest absolute difference.

    Raises:
        ImportError: If the library is absent, with the command that installs it.
        NotImplementedError: If transformers no longer reads the file of weights.

    Example:

    ```python
    model = ak.load_checkpoint("albert-base-v2")
    output_differences(model, "albert-base-v2")  # ("transformers", {...})
    ```
    """
    source, checkpoint = recognise(path)
    head = head_of(model)
    inputs = random_inputs(model, head, seed)
    if source == "huggingface":
        library, expected = "transformers", _run_transformers(checkpoint, model, inputs)
    elif source == "keras_hub":
        library, expected = "keras_hub", _run_keras_hub(checkpoint, head, inputs)
    else:
        again = load_checkpoint(path, head=head, source=source)
        library, expected = "albert_keras", _as_dict(again(inputs))
    outputs = _as_dict(model(inputs))
    return library, {
        name: float(np.abs(_array(outputs[name]) - _array(value)).max())
        for name, value in expected.items()
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
    if head == "joint_question_answering":
        features["answer_mask"] = features["padding_mask"]
        features["start_positions"] = lengths[:, 0].astype("int32") // 2
    return features


def _run_transformers(checkpoint, model, inputs):
    torch = import_optional("torch", "peers")
    transformers = import_optional("transformers", "peers")
    if checkpoint.suffix == ".h5":
        raise NotImplementedError(
            "transformers reads weights of PyTorch alone since its version 5. "
            f"Received: '{checkpoint}'. Verify what it is converted to."
        )
    # The class is that of our model, whatever the files name.
    name = architecture(model, head_of(model))
    theirs = getattr(transformers, name).from_pretrained(checkpoint.parent).eval()
    features = {
        foreign: torch.tensor(inputs[name], dtype=torch.long)
        for name, foreign in _FEATURE_NAMES.items()
    }
    with torch.no_grad():
        outputs = theirs(**features)
    names = _OUTPUT_NAMES.get(head_of(model), {"logits": "logits"})
    return {ours: outputs[name] for name, ours in names.items() if name in outputs}


def _run_keras_hub(checkpoint, head, inputs):
    if not isinstance(checkpoint, keras.Model):
        options = {} if head is None else {"preprocessor": None}
        checkpoint = keras_hub.MODELS[head].from_preset(str(checkpoint), **options)
    if head == "pretraining":
        # With their own, which a warning names, the weights could not be compared.
        norm = checkpoint.masked_lm_head._intermediate_layer_norm
        norm.epsilon = checkpoint.backbone.embeddings_layer_norm.epsilon
    outputs = checkpoint(inputs)
    return {"mlm_logits": outputs} if head == "pretraining" else _as_dict(outputs)


def _as_dict(outputs):
    return outputs if isinstance(outputs, dict) else {"logits": outputs}


def _array(value):
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    return keras.ops.convert_to_numpy(value).astype("float64")
